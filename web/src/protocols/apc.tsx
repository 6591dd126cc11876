import { api, mapAnswer, queryOf, type Schemas } from "../api/client";
import { Verdict } from "../parts/chip";
import type { ListSpec } from "../parts/list";
import { Text } from "../parts/text";
import { address } from "../state/url";
import {
  column,
  countColumn,
  nodeColumn,
  positionColumn,
  stateColumn,
  textColumn,
  timeColumn,
} from "./cells";
import { defineItems, defineList, type ProtocolList } from "./define";

type Packet = Schemas["Trace"]["packets"][number];

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
    stateColumn("state", (row) => row.state),
    countColumn("packets", (row) => row.packets),
    countColumn("refused", (row) => row.rejected),
    timeColumn("last", (row) => row.last_at),
  ],
});

const packets: ListSpec<Packet> = {
  tab: "packets",
  label: "Packets",
  path: "/v1/apc/packets",
  command: "headrace apc trace",
  empty: "No packet was sent yet. `headrace send apc.packets FILE` sends one.",
  load: async (query, signal) => {
    const answer = await api.GET("/v1/apc/packets", {
      params: {
        query: queryOf<"/v1/apc/packets">({ limit: "100", ...query, include_events: "false" }),
      },
      ...(signal && { signal }),
    });
    return mapAnswer(answer, (data) => ({ items: data.packets, next: data.next }));
  },
  rowKey: (row) => row.position || row.packet_id,
  filters: [
    { name: "session_id", label: "session" },
    { name: "verdict", label: "verdict", values: ["accepted", "rejected", "duplicate"] },
    {
      name: "packet_type",
      label: "type",
      values: ["IDEA", "CLAIM", "TRANSFER", "ACK", "EVAL", "DIRECTIVE", "RETRACTION"],
    },
    { name: "state", label: "state" },
    { name: "sender", label: "sender" },
    { name: "run_id", label: "run" },
    { name: "trace_id", label: "trace" },
  ],
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
    positionColumn("command", (row) => row.position),
  ],
};

export const APC: readonly ProtocolList[] = [sessions, defineList(packets)];
