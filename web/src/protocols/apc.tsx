import { api, mapAnswer, queryOf, type Schemas } from "../api/client";
import { State, Verdict } from "../parts/chip";
import { ARGUMENT, type FilterOf } from "../parts/filters";
import type { ListSpec } from "../parts/list";
import { Text } from "../parts/text";
import { address } from "../state/url";
import {
  column,
  countColumn,
  nodeColumn,
  stateColumn,
  textColumn,
  timeColumn,
  WINDOW,
} from "./cells";
import { defineItems, defineList, type ProtocolList } from "./define";

type Packet = Schemas["Trace"]["packets"][number];
type Transition = Schemas["headrace.apc.CoordinationNote"] & { n: number };

const sessions = defineItems("/v1/apc/sessions", {
  empty: "No packet names a session yet. `headrace send apc.packets FILE` sends one.",
  rowKey: (row) => row.session_id,
  filters: [],
  columns: [
    column(
      "session",
      (row) => (
        <a href={address(["apc"], { tab: "packets", session_id: row.session_id })}>
          <Text value={row.session_id} code />
        </a>
      ),
      true,
    ),
    column("state", (row) => (
      <a href={address(["apc"], { tab: "coordination", session_id: row.session_id })}>
        <State value={row.state} />
      </a>
    )),
    countColumn("packets", (row) => row.packets),
    countColumn("refused", (row) => row.rejected),
    timeColumn("last", (row) => row.last_at),
  ],
});

const TYPES = [
  "TASK_IR",
  "IDEA",
  "CLAIM",
  "ARTIFACT",
  "SIGNAL",
  "EVAL",
  "TRANSFER",
  "ARBITRATION",
  "DECISION",
  "RETRACTION",
  "ACK",
  "NACK",
  "ERROR",
  "HEARTBEAT",
] as const;
const STATES = [
  "DRAFT",
  "NORMALIZED",
  "SCHEMA_VALIDATED",
  "POLICY_VALIDATED",
  "ROUTED",
  "DELIVERED",
  "APPLIED",
  "VERIFIED",
  "PROMOTED",
  "SUPERSEDED",
  "ARCHIVED",
  "REJECTED_SCHEMA",
  "REJECTED_POLICY",
  "EXPIRED",
  "RETRACTED",
] as const;

/** What the list asks for: no histories, but who sent each packet. */
const SHOWN = { include_events: "false", verdicts: "true" };

const packets: ListSpec<Packet> = {
  tab: "packets",
  label: "Packets",
  path: "/v1/apc/packets",
  command: "headrace apc trace",
  empty: "No packet was sent yet. `headrace send apc.packets FILE` sends one.",
  load: async (query, signal) => {
    const answer = await api.GET("/v1/apc/packets", {
      params: {
        query: queryOf<"/v1/apc/packets">({ limit: "100", ...query, ...SHOWN }),
      },
      ...(signal && { signal }),
    });
    return mapAnswer(answer, (data) => ({ items: data.packets, next: data.next }));
  },
  rowKey: (row) => row.position || row.packet_id,
  filters: [
    { name: "session_id", label: "session" },
    { name: "verdict", label: "verdict", values: ["accepted", "rejected"] },
    { name: "packet_type", label: "type", values: TYPES },
    { name: "state", label: "state", values: STATES },
    { name: "sender", label: "sender" },
    { name: "run_id", label: "run" },
    { name: "trace_id", label: "trace" },
    ...WINDOW,
  ] satisfies FilterOf<"/v1/apc/packets">[],
  columns: [
    timeColumn("time", (row) => row.created_at),
    nodeColumn("packet", (row) => ({
      node: `apc:packet:${row.packet_id}`,
      label: `${row.packet_type} ${row.packet_id.slice(0, 8)}`,
    })),
    stateColumn("state", (row) => row.lifecycle_state),
    column("verdict", (row) => <Verdict verdict={row.verdict} rule={row.rule} />),
    textColumn("phase", (row) => row.run_phase),
    textColumn("sender", (row) => ("sender" in row ? row.sender : row.sender_role)),
    column("reason", (row) => <Text value={row.message ?? ""} />, true),
  ],
};

/** List the transitions of a session and of its agents, newest first. */
export function listTransitions({ inter, intra }: Schemas["Coordination"]): Transition[] {
  return [inter, ...intra]
    .flatMap((row) => row?.history ?? [])
    .map((note, n) => ({ ...note, n }))
    .sort((one, other) => other.at.localeCompare(one.at) || other.n - one.n);
}

const NOTHING = { items: [], next: null };

const coordination: ListSpec<Transition> = {
  tab: "coordination",
  label: "Coordination",
  path: "/v1/apc/sessions/{session_id}/coordination",
  command: "headrace apc coordination",
  empty: "Name a session, or choose the state of one in the list of sessions.",
  load: async ({ session_id }, signal) => {
    if (session_id === undefined) return { data: NOTHING, response: new Response() };
    const answer = await api.GET("/v1/apc/sessions/{session_id}/coordination", {
      params: { path: { session_id } },
      ...(signal && { signal }),
    });
    return mapAnswer(answer, (data) => ({ items: listTransitions(data), next: null }));
  },
  rowKey: (row) => String(row.n),
  filters: [{ name: "session_id", label: "session", option: ARGUMENT }],
  columns: [
    timeColumn("time", (row) => row.at),
    textColumn("machine", (row) => row.machine),
    textColumn("agent", (row) => row.agent_id),
    textColumn("event", (row) => row.event, true),
    stateColumn("from", (row) => row.from_state),
    stateColumn("to", (row) => row.to_state),
    column("applied", (row) => (row.applied ? "✔ applied" : `– ${row.why.replaceAll("_", " ")}`)),
    nodeColumn("packet", (row) => ({
      node: `apc:packet:${row.packet_id}`,
      label: row.packet_id.slice(0, 8),
    })),
  ],
};

export const APC: readonly ProtocolList[] = [
  sessions,
  defineList(packets),
  defineList(coordination),
];
