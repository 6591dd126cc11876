import { api, queryOf } from "../api/client";
import type { RtesRecord } from "../api/stream";
import type { FilterOf } from "../parts/filters";
import type { ListSpec } from "../parts/list";
import { Text } from "../parts/text";
import { address } from "../state/url";
import { EVENT_TYPES } from "../tail/rows";
import {
  column,
  countColumn,
  nodeColumn,
  positionColumn,
  stateColumn,
  textColumn,
  timeColumn,
  WINDOW,
  writeCounts,
} from "./cells";
import { defineItems, defineList, type ProtocolList } from "./define";

const SESSION = { name: "session_id", label: "session", option: "--session" } as const;
const TASK = { name: "task_id", label: "task", option: "--task" } as const;

const sum = (by: Readonly<Record<string, number>>): number =>
  Object.values(by).reduce((all, each) => all + each, 0);

const sessions = defineItems("/v1/saop/sessions", {
  fixed: { order: "latest" },
  command: "headrace saop sessions --order latest",
  empty: "No agent has sent an event yet. `headrace send rtes.raw FILE` sends some.",
  rowKey: (row) => row.session_id,
  filters: [SESSION, ...WINDOW],
  columns: [
    nodeColumn(
      "session",
      (row) => ({ node: `saop:session:${row.session_id}`, label: row.session_id }),
      true,
    ),
    column("tail", (row) => <a href={address(["live"], { session_id: row.session_id })}>live</a>),
    countColumn("events", (row) => sum(row.events_by_type)),
    countColumn("refused", (row) => row.rejected),
    countColumn("duplicate", (row) => row.duplicates),
    textColumn("tasks", (row) => writeCounts(row.tasks_by_state)),
    textColumn("current task", (row) => row.current_task),
    timeColumn("last", (row) => row.last_recorded_at),
  ],
});

const tasks = defineItems("/v1/saop/tasks", {
  empty: "No task has moved yet: each TASK_TRANSITION event moves one.",
  rowKey: (row) => `${row.session_id} ${row.task_id}`,
  filters: [
    SESSION,
    { name: "state", label: "state" },
    { name: "origin", label: "origin", values: ["apc", "sap", "asap", "summit", "otel"] },
  ],
  columns: [
    column(
      "task",
      (row) => (
        <a href={address(["things", `saop:task:${row.task_id}`], { session_id: row.session_id })}>
          <Text value={row.task_id} code />
        </a>
      ),
      true,
    ),
    stateColumn("state", (row) => row.state),
    textColumn("profile", (row) => row.profile),
    textColumn("origin", (row) => row.origin),
    countColumn("transitions", (row) => row.transitions),
    countColumn("failures", (row) => row.failures),
    textColumn("commit", (row) => row.head_hash?.slice(0, 8)),
    timeColumn("last", (row) => row.last_at),
  ],
});

const escalations = defineItems("/v1/saop/escalations", {
  empty: "No detector has fired: falling confidence, repetition and failures would be here.",
  rowKey: (row) => row.escalation_id,
  filters: [
    { name: "detector", label: "detector", values: ["confidence", "repetition", "failures"] },
    TASK,
    SESSION,
    {
      name: "agent_id",
      label: "agent",
      option: "--agent",
      values: ["researcher", "architect", "developer", "reviewer"],
    },
  ],
  columns: [
    timeColumn("time", (row) => row.at),
    nodeColumn("escalation", (row) => ({
      node: `saop:escalation:${row.escalation_id}`,
      label: row.escalation_id.slice(0, 8),
    })),
    stateColumn("outcome", (row) => row.outcome),
    textColumn("detector", (row) => row.detector),
    textColumn("task", (row) => row.task_id),
    textColumn("agent", (row) => row.agent_id),
    textColumn("confidences", (row) => row.confidences.join(" → "), true),
    positionColumn("command", (row) => row.cause),
  ],
});

const rewinds = defineItems("/v1/saop/rewinds", {
  empty: "No session was rewound yet. `headrace saop rewind` rewinds one with its git work tree.",
  rowKey: (row) => `${row.session_id} ${row.rewind_id}`,
  filters: [
    SESSION,
    TASK,
    { name: "state", label: "state", values: ["prepared", "applied", "aborted", "lapsed"] },
    ...WINDOW,
  ],
  columns: [
    timeColumn("time", (row) => row.at),
    column("rewind", (row) => (
      <a href={address(["things", `saop:rewind:${row.rewind_id}`], { session_id: row.session_id })}>
        <Text value={row.rewind_id.slice(0, 8)} code />
      </a>
    )),
    stateColumn("state", (row) => row.state),
    nodeColumn(
      "session",
      (row) => ({ node: `saop:session:${row.session_id}`, label: row.session_id }),
      true,
    ),
    textColumn("task", (row) => row.target_task_id),
    textColumn("commit", (row) => row.git_hash?.slice(0, 8)),
    countColumn("moved", (row) => row.moved.length),
    textColumn("by", (row) => row.requested_by),
    positionColumn("command", (row) => row.cause),
  ],
});

const NOTHING = { items: [], next: null };

/** The events of one session, the oldest first. */
const events: ListSpec<RtesRecord> = {
  tab: "events",
  label: "Events",
  path: "/v1/rtes/events",
  command: "headrace rtes events",
  empty: "Name a session: its events are listed by sequence.",
  load: async ({ session_id, ...query }, signal) => {
    if (session_id === undefined) return { data: NOTHING, response: new Response() };
    return await api.GET("/v1/rtes/events", {
      params: { query: { ...queryOf<"/v1/rtes/events">(query), session_id } },
      ...(signal && { signal }),
    });
  },
  rowKey: (row) => String(row.sequence),
  filters: [
    SESSION,
    { name: "type", label: "type", values: EVENT_TYPES },
    TASK,
    { name: "after_sequence", label: "after" },
  ] satisfies FilterOf<"/v1/rtes/events">[],
  columns: [
    timeColumn("time", (row) => row.recorded_at),
    countColumn("sequence", (row) => row.sequence),
    textColumn("type", (row) => row.payload.type),
    textColumn("task", (row) => row.task_id),
    textColumn("event", (row) => writeEvent(row.payload), true),
    textColumn("origin", (row) => row.origin),
    textColumn("flags", (row) => row.flags.join(", ").replaceAll("_", " ")),
    positionColumn("command", (row) => row.cause),
  ],
};

/** Write an event without the names that stand in columns of their own. */
function writeEvent({ type: _type, ...members }: RtesRecord["payload"]): string {
  return JSON.stringify(members);
}

export const SAOP: readonly ProtocolList[] = [
  sessions,
  tasks,
  defineList(events),
  escalations,
  rewinds,
];
