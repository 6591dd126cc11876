import type { ComponentChildren } from "preact";
import { writeSpan } from "../state/clock";
import { address, thingAddress } from "../state/url";
import type { CallRow, Row } from "../tail/rows";
import { Id, Text } from "./text";
import { Age, Time } from "./time";

const STATUSES: Record<string, string> = { success: "✔", failure: "✖", timeout: "✖" };
/** How many lines of a run of pulses are shown before it is opened. */
const LINES = 3;

/** One row of the tail, with the session where several are followed. */
export function TailRow({ row, withSession }: { row: Row; withSession: boolean }) {
  if (row.kind === "gap") {
    return (
      <p class="gap">
        #{row.sequence} to #{row.last} are not shown.
      </p>
    );
  }
  return (
    <>
      <Time at={row.at} />
      <span class="sequence">
        {withSession && (
          <>
            <a href={address(["live"], { session_id: row.session })}>
              <Id value={row.session} length={12} />
            </a>{" "}
          </>
        )}
        #{row.sequence}
      </span>
      {renderBody(row)}
      <span class="flags">
        {row.flags.map((flag) => (
          <span class="flag" key={flag}>
            {flag.replaceAll("_", " ")}
          </span>
        ))}
      </span>
    </>
  );
}

function renderBody(row: Exclude<Row, { kind: "gap" }>): ComponentChildren {
  switch (row.kind) {
    case "thought":
      return (
        <Body who={`${row.agent}, turn ${row.turn}`} sign="┃">
          <Text value={row.chunks.join("")} />
          {!row.final && <span class="cursor" role="img" aria-label="goes on" />}
        </Body>
      );
    case "call":
      return (
        <Body who={row.tool} sign="▶" detail={row.call} outcome={<Outcome row={row} />}>
          {row.arguments === undefined ? (
            <span class="muted">invoked before the tail begins</span>
          ) : (
            <Text value={row.arguments} code />
          )}
          {row.masked > 0 && <span class="muted"> {row.masked} masked</span>}
        </Body>
      );
    case "transition":
      return (
        <Body who={<TaskLink task={row.task} />} sign="◆" outcome={<Hash value={row.hash} />}>
          <Text value={row.from} code /> → <Text value={row.to} code />
        </Body>
      );
    case "pulse":
      return (
        <Body who="sandbox" sign="│" outcome={row.masked ? "masked" : undefined}>
          <Pulses lines={row.lines} />
        </Body>
      );
    case "escalation":
      return (
        <Body who={<TaskLink task={row.task} />} sign="▲" outcome={<Text value={row.outcome} />}>
          {row.agent !== undefined && (
            <>
              <Text value={row.agent} code />, turn {row.turn}:{" "}
            </>
          )}
          <Text value={row.rules.join(", ")} code />
        </Body>
      );
  }
}

interface BodyProps {
  who: ComponentChildren;
  sign: string;
  detail?: string;
  outcome?: ComponentChildren;
  children: ComponentChildren;
}

function Body({ who, sign, detail, outcome, children }: BodyProps) {
  return (
    <>
      <span class="who">
        {typeof who === "string" ? <Text value={who} code /> : who}
        {detail && (
          <span class="muted">
            {" "}
            <Id value={detail} length={16} />
          </span>
        )}
      </span>
      <span class="sign" aria-hidden="true">
        {sign}
      </span>
      <span class="body">{children}</span>
      <span class="outcome">{outcome}</span>
    </>
  );
}

function Outcome({ row }: { row: CallRow }) {
  if (row.status === undefined) {
    return (
      <span class="muted">
        open for <Age at={row.at} />
      </span>
    );
  }
  return (
    <span class={row.status === "success" ? "accepted" : "refused"}>
      <span aria-hidden="true">{STATUSES[row.status]}</span> {row.status}
      {row.duration !== undefined && `, ${writeSpan(row.duration)}`}
    </span>
  );
}

function TaskLink({ task }: { task: string }) {
  return (
    <a href={thingAddress(`saop:task:${task}`)}>
      <Id value={task} length={18} />
    </a>
  );
}

function Hash({ value }: { value: string | undefined }) {
  return value === undefined ? null : <Id value={value} length={12} />;
}

function Pulses({ lines }: { lines: readonly string[] }) {
  if (lines.length <= LINES) return <PulseLines lines={lines} />;
  return (
    <>
      <PulseLines lines={lines.slice(0, 1)} />
      <details>
        <summary>{lines.length - 1} more lines</summary>
        <PulseLines lines={lines.slice(1)} />
      </details>
    </>
  );
}

function PulseLines({ lines }: { lines: readonly string[] }) {
  return (
    <span class="pulse">
      <Text value={lines.join("\n")} code />
    </span>
  );
}
