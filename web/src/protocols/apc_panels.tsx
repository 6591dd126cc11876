import type { Schemas } from "../api/client";
import { NodeLink } from "../parts/link";
import { Text } from "../parts/text";
import { Time } from "../parts/time";
import { address } from "../state/url";
import {
  Check,
  type Describe,
  fact,
  type PanelFact,
  type PanelThing,
  textFact,
} from "./panel_fact";

type Packet = Schemas["headrace.apc.ApcPacketState"];
type Throttle = Schemas["headrace.apc.Throttle"];
type Gates = Schemas["headrace.apc.Gates"];

/** Who has acknowledged a packet, and who has not yet. */
function describeAcks(acks: Packet["acks"]): PanelFact | null {
  if (!acks?.required) return null;
  return fact(
    "acknowledgements",
    <>
      {acks.accepted.length} of {acks.recipients.length}{" "}
      {acks.recipients.map((each) => (
        <Check
          key={each}
          name={each}
          holds={acks.accepted.includes(each)}
          words={["acknowledged", "not yet"]}
        />
      ))}
      {acks.pending.length > 0 && (
        <span class="muted">
          attempt {acks.attempt}, until <Time at={acks.ack_due_at ?? acks.deadline_at} />
        </span>
      )}
    </>,
  );
}

/** The newest figures of this name among the verdicts on a thing. */
function findFigures<T>(thing: PanelThing, name: "throttle" | "gates"): T | undefined {
  const figures = thing.verdicts.map((each) => each.figures as Record<string, unknown>);
  return figures.find((each) => each[name])?.[name] as T | undefined;
}

function describeThrottle(throttle: Throttle): PanelFact {
  const { generation, receivers_before, top_k_limit, places_left, required_above } = throttle;
  const places = top_k_limit === null ? "" : ` of ${top_k_limit}`;
  return fact(
    "throttle",
    <>
      {throttle.enabled ? "" : "off; "}generation {generation}, {throttle.mode},{" "}
      {receivers_before.length}
      {places} receivers before{places_left !== null && `, ${places_left} places left`}
      {required_above !== null && `; score ${throttle.sender_score}, above ${required_above} asked`}
    </>,
  );
}

function describeGates({ met, checks }: Gates): PanelFact {
  return fact(
    "gates",
    <>
      {met ? "met" : "not met"}{" "}
      {checks.map(({ metric, used, op, threshold, ok }) => (
        <Check key={metric} name={`${metric} ${used ?? "–"} ${op} ${threshold}`} holds={ok} />
      ))}
    </>,
  );
}

function describeTransfer(transfer: NonNullable<Packet["transfer"]>): PanelFact {
  const { protocol_id, to_swarm, selection } = transfer;
  return fact(
    "transfer",
    <>
      <NodeLink node={`apc:protocol:${protocol_id}`} label={protocol_id} /> to{" "}
      <Text value={to_swarm} code />
      {selection && ", selected by an arbitration"}
    </>,
  );
}

/** The packets of a run. */
function RunLink({ run }: { run: string }) {
  return (
    <a href={address(["apc"], { tab: "packets", run_id: run })}>
      <Text value={run} code />
    </a>
  );
}

export const describePacket: Describe = (details, thing) => {
  const { acks, transfer, verification, gates, generation, run_id } = details as Packet;
  const throttle = findFigures<Throttle>(thing, "throttle");
  const reached = gates ?? findFigures<Gates>(thing, "gates");
  const by = verification?.by ? ` by ${verification.by}` : "";
  return [
    run_id ? fact("run", <RunLink run={run_id} />) : null,
    describeAcks(acks),
    transfer ? describeTransfer(transfer) : null,
    throttle ? describeThrottle(throttle) : null,
    reached ? describeGates(reached) : null,
    verification?.outcome ? textFact("verification", `${verification.outcome}${by}`) : null,
    textFact("generation", generation),
  ];
};

const share = (value: number | string | null): string =>
  value === null ? "–" : Number(value).toFixed(3);

export const describeProtocol: Describe = (details) => {
  const row = details as Schemas["headrace.apc.ApcLineage"];
  return [
    fact(
      "effectiveness",
      <>
        {share(row.effectiveness_score)}
        {row.blocked && (
          <>
            , blocked since <Time at={row.blocked_since} />
          </>
        )}
      </>,
    ),
    row.blocked ? textFact("blocked for", row.blocked_reasons.join(", ")) : null,
    fact(
      "transfers",
      `${row.accepted} of ${row.transfers} accepted, ${row.cross} across use cases, ${row.run_count} runs`,
    ),
    fact("outcome, drift risk", `${share(row.avg_outcome)}, ${share(row.avg_drift_risk)}`),
  ];
};
