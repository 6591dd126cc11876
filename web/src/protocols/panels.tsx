import type { ComponentChildren } from "preact";
import type { Schemas } from "../api/client";
import { Budget } from "../parts/budget";
import { NodeLink, PositionLink } from "../parts/link";
import { Text } from "../parts/text";
import { address } from "../state/url";

/** A fact below the header of a thing. */
export interface PanelFact {
  label: string;
  value: ComponentChildren;
}

type Details = NonNullable<Schemas["Thing"]["details"]>;
type Describe = (details: Details) => (PanelFact | null)[];

const fact = (label: string, value: ComponentChildren): PanelFact => ({ label, value });

function describeRun(details: Details): (PanelFact | null)[] {
  const run = details as Schemas["SummitWholeRun"];
  const { budget, metrics, provenance, verification, evidence } = run;
  const seconds = metrics.latency_ms === undefined ? 0 : Number(metrics.latency_ms) / 1000;
  return [
    budget &&
      fact(
        "budget",
        <>
          <Budget unit="usd" used={Number(metrics.cost_usd)} allowed={budget.usd} />
          <Budget unit="tokens" used={metrics.tokens} allowed={budget.tokens} />
          <Budget unit="seconds" used={seconds} allowed={budget.seconds} />
        </>,
      ),
    provenance && fact("model", <Text value={provenance.model} code />),
    verification && fact("verification", <Checks checks={verification.checks} />),
    run.parentRunId ? fact("part of", <NodeLink node={runNode(run.parentRunId)} />) : null,
    fact("call", <PositionLink position={evidence.callPosition} />),
    evidence.replyPosition
      ? fact("reply", <PositionLink position={evidence.replyPosition} />)
      : null,
  ];
}

function runNode(id: string): string {
  return `summit:run:${id.replaceAll("%", "%25").replaceAll("/", "%2F")}`;
}

function Checks({ checks }: { checks: readonly { name: string; passed: boolean }[] }) {
  if (checks.length === 0) return <>no checks</>;
  return (
    <>
      {checks.map(({ name, passed }) => (
        <span class="check" key={name}>
          <span aria-hidden="true">{passed ? "✔" : "✖"}</span> <Text value={name} code />{" "}
          {passed ? "passed" : "failed"}
        </span>
      ))}
    </>
  );
}

function describeSapTask(details: Details): (PanelFact | null)[] {
  const { cache, lastAlignment, constitution, heuristicsVersion, outcomes } =
    details as Schemas["SapTaskAnswer"];
  return [
    cache &&
      fact(
        "cache",
        <>
          {cache.state}, mode {cache.mode}
          {cache.leader && ", leads the others that wait for the key"}
          {cache.hitVersion !== null && `, version ${cache.hitVersion} used`}
          {cache.storedVersion !== null && `, version ${cache.storedVersion} stored`}
          {cache.storeRefused && ", write refused"}{" "}
          <a href={address(["sap"], { tab: "cache" })}>cache</a>
        </>,
      ),
    lastAlignment ? fact("alignment", <Text value={lastAlignment} code />) : null,
    constitution ? fact("constitution", <Text value={constitution} code />) : null,
    heuristicsVersion ? fact("heuristics", `version ${heuristicsVersion}`) : null,
    fact("outcomes", String(outcomes.length)),
  ];
}

function describeAsapTask(details: Details): (PanelFact | null)[] {
  const task = details as Schemas["AsapListedTask"];
  const progress = task.task.progress;
  return [
    fact("skill", <Text value={task.skill_id} code />),
    fact("requester", <Text value={task.requester} code />),
    fact("worker", <Text value={task.worker} code />),
    progress ? fact("progress", <Text value={JSON.stringify(progress)} code />) : null,
    task.input_request
      ? fact("input asked for", <Text value={JSON.stringify(task.input_request)} code />)
      : null,
    fact(
      "snapshots",
      task.snapshot_version === null ? "none" : `up to version ${task.snapshot_version}`,
    ),
    task.error_code ? fact("error", <Text value={task.error_code} code />) : null,
  ];
}

const PANELS: Readonly<Record<string, Describe>> = {
  "summit:run": describeRun,
  "sap:task": describeSapTask,
  "asap:task": describeAsapTask,
};

/** List what a protocol says of a thing below its header. */
export function listPanelFacts(kind: string, details: unknown): PanelFact[] {
  const describe = PANELS[kind];
  if (describe === undefined || typeof details !== "object" || details === null) return [];
  return describe(details).filter((each) => each !== null);
}
