import type { Schemas } from "../api/client";
import { Budget } from "../parts/budget";
import { NodeLink, PositionLink } from "../parts/link";
import { address } from "../state/url";
import { describePacket, describeProtocol } from "./apc_panels";
import { nodePart } from "./cells";
import {
  Check,
  type Describe,
  type Details,
  fact,
  type PanelFact,
  type PanelThing,
  textFact,
} from "./panel_fact";
import {
  describeEscalation,
  describeRewind,
  describeSession,
  describeTask,
  describeTurn,
} from "./saop_panels";

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
    textFact("model", provenance?.model),
    verification && fact("verification", <Checks checks={verification.checks} />),
    run.parentRunId
      ? fact("part of", <NodeLink node={`summit:run:${nodePart(run.parentRunId)}`} />)
      : null,
    fact("call", <PositionLink position={evidence.callPosition} />),
    evidence.replyPosition
      ? fact("reply", <PositionLink position={evidence.replyPosition} />)
      : null,
  ];
}

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
    textFact("alignment", lastAlignment),
    textFact("constitution", constitution),
    heuristicsVersion ? fact("heuristics", `version ${heuristicsVersion}`) : null,
    fact("outcomes", String(outcomes.length)),
  ];
}

function describeAsapTask(details: Details): (PanelFact | null)[] {
  const task = details as Schemas["AsapListedTask"];
  const progress = task.task.progress;
  return [
    textFact("skill", task.skill_id),
    textFact("requester", task.requester),
    textFact("worker", task.worker),
    progress ? textFact("progress", JSON.stringify(progress)) : null,
    task.input_request ? textFact("input asked for", JSON.stringify(task.input_request)) : null,
    fact(
      "snapshots",
      task.snapshot_version === null ? "none" : `up to version ${task.snapshot_version}`,
    ),
    textFact("error", task.error_code),
  ];
}

const PANELS: Readonly<Record<string, Describe>> = {
  "apc:packet": describePacket,
  "apc:protocol": describeProtocol,
  "summit:run": describeRun,
  "sap:task": describeSapTask,
  "asap:task": describeAsapTask,
  "saop:session": describeSession,
  "saop:task": describeTask,
  "saop:turn": describeTurn,
  "saop:escalation": describeEscalation,
  "saop:rewind": describeRewind,
};

/** List what a protocol says of a thing below its header. */
export function listPanelFacts(thing: PanelThing): PanelFact[] {
  const { kind, details } = thing;
  const describe = PANELS[kind];
  if (describe === undefined || typeof details !== "object" || details === null) return [];
  return describe(details, thing).filter((each) => each !== null);
}
