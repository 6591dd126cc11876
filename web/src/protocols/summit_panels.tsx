import { api, type Schemas } from "../api/client";
import { useApi } from "../api/use_api";
import { Budget } from "../parts/budget";
import { State } from "../parts/chip";
import { NodeLink, PositionLink } from "../parts/link";
import { Loaded } from "../parts/states";
import { Text } from "../parts/text";
import { Time } from "../parts/time";
import { nodePart, writeDollars } from "./cells";
import { Check, type Describe, fact, presentFact } from "./panel_fact";

const MOST_RUNS = 100;
const MOST_DEPTH = 8;
const INDENT = 18;

export const describeRun: Describe = (details) => {
  const run = details as Schemas["SummitWholeRun"];
  const { runId, budget, metrics, provenance, verification, evidence } = run;
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
    provenance && fact("provenance", <Provenance provenance={provenance} />),
    verification && fact("verification", <Checks checks={verification.checks} />),
    run.parentRunId
      ? fact("part of", <NodeLink node={`summit:run:${nodePart(run.parentRunId)}`} />)
      : null,
    presentFact("tree", <RunTree run={runId} />),
    presentFact("evidence", <EvidenceChecks run={runId} />),
    fact("call", <PositionLink position={evidence.callPosition} />),
    evidence.replyPosition
      ? fact("reply", <PositionLink position={evidence.replyPosition} />)
      : null,
  ];
};

function Checks({ checks }: { checks: readonly { name: string; passed: boolean }[] }) {
  if (checks.length === 0) return <>no checks</>;
  return (
    <>
      {checks.map(({ name, passed }) => (
        <Check key={name} name={name} holds={passed} />
      ))}
    </>
  );
}

/** What an agent says of how its result was made. */
function Provenance({ provenance }: { provenance: Schemas["headrace.summit.Provenance"] }) {
  const { model, timestamp, ...more } = provenance;
  return (
    <>
      model <Text value={model} code />
      {timestamp !== "" && (
        <>
          , <Time at={timestamp} />
        </>
      )}
      {Object.entries(more).map(([name, value]) => (
        <div key={name}>
          <span class="muted">
            <Text value={name} code />
          </span>{" "}
          <Text value={typeof value === "string" ? value : JSON.stringify(value)} code />
        </div>
      ))}
    </>
  );
}

const EVIDENCE = { ok: true, mismatch: false, missing: null } as const;
const EVIDENCE_WORDS = ["computed again", "differs", "no longer on the log"] as const;

/** The hashes of a run, computed again from the records that its evidence names. */
function EvidenceChecks({ run }: { run: string }) {
  const evidence = useApi(
    `evidence ${run}`,
    (signal) =>
      api.GET("/v1/summit/runs/{runId}/evidence", { params: { path: { runId: run } }, signal }),
    false,
  );
  return (
    <Loaded query={evidence}>
      {({ checks }) =>
        checks.map(({ check, result }) => (
          <Check key={check} name={check} holds={EVIDENCE[result]} words={EVIDENCE_WORDS} />
        ))
      }
    </Loaded>
  );
}

/** A run and the runs below it, each with what it has used. */
function RunTree({ run }: { run: string }) {
  const tree = useApi(`tree ${run}`, (signal) =>
    api.GET("/v1/summit/runs/{runId}/tree", {
      params: { path: { runId: run }, query: { limit: MOST_RUNS } },
      signal,
    }),
  );
  return (
    <Loaded query={tree}>
      {({ items, next }) => (
        <ul class="lines tree">
          {items.map((each) => (
            <li
              key={each.runId}
              style={{ paddingInlineStart: `${Math.min(each.depth, MOST_DEPTH) * INDENT}px` }}
            >
              {each.runId === run ? (
                <strong>
                  <Text value={each.runId} code />
                </strong>
              ) : (
                <NodeLink node={`summit:run:${nodePart(each.runId)}`} label={each.runId} />
              )}{" "}
              <State value={each.status} /> <Text value={each.agentId} code />{" "}
              <span class="muted">
                {each.tokens.toLocaleString("en")} tokens, {writeDollars(each.usd)}
                {each.treeUsd !== null &&
                  each.treeUsd !== each.usd &&
                  `, ${writeDollars(each.treeUsd)} with those below`}
              </span>
            </li>
          ))}
          {next !== null && <li class="muted">and more</li>}
        </ul>
      )}
    </Loaded>
  );
}
