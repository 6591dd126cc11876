import { api, queryOf, type Schemas } from "../api/client";
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
import { defineList, type ProtocolList } from "./define";
import type { Items } from "./items";

type Session = Schemas["Sessions"]["items"][number];
type Task = Items<"/v1/saop/tasks">;
type Escalation = Items<"/v1/saop/escalations">;

const counts = (by: Readonly<Record<string, number>>): string =>
  Object.entries(by)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");

const sum = (by: Readonly<Record<string, number>>): number =>
  Object.values(by).reduce((all, each) => all + each, 0);

const sessions: ListSpec<Session> = {
  tab: "sessions",
  label: "Sessions",
  path: "/v1/saop/sessions",
  command: "headrace saop sessions",
  empty: "No agent has sent an event yet.",
  load: (query, signal) =>
    api.GET("/v1/saop/sessions", {
      params: { query: queryOf<"/v1/saop/sessions">(query) },
      ...(signal && { signal }),
    }),
  rowKey: (row) => row.session_id,
  filters: [{ name: "session_id", label: "session" }],
  columns: [
    nodeColumn("session", (row) => ({
      node: `saop:session:${row.session_id}`,
      label: row.session_id,
    })),
    column("tail", (row) => <a href={address(["live"], { session_id: row.session_id })}>live</a>),
    countColumn("events", (row) => sum(row.events_by_type)),
    countColumn("refused", (row) => row.rejected),
    countColumn("duplicate", (row) => row.duplicates),
    textColumn("tasks", (row) => counts(row.tasks_by_state), true),
    textColumn("current task", (row) => row.current_task),
    timeColumn("last", (row) => row.last_recorded_at),
  ],
};

const tasks: ListSpec<Task> = {
  tab: "tasks",
  label: "Tasks",
  path: "/v1/saop/tasks",
  command: "headrace saop tasks",
  empty: "No task has moved yet.",
  load: (query, signal) =>
    api.GET("/v1/saop/tasks", {
      params: { query: queryOf<"/v1/saop/tasks">(query) },
      ...(signal && { signal }),
    }),
  rowKey: (row) => `${row.session_id} ${row.task_id}`,
  filters: [
    { name: "session_id", label: "session" },
    { name: "state", label: "state" },
    { name: "origin", label: "origin", values: ["apc", "sap", "asap", "summit"] },
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
};

const escalations: ListSpec<Escalation> = {
  tab: "escalations",
  label: "Escalations",
  path: "/v1/saop/escalations",
  command: "headrace saop escalations",
  empty: "No detector has fired.",
  load: (query, signal) =>
    api.GET("/v1/saop/escalations", {
      params: { query: queryOf<"/v1/saop/escalations">(query) },
      ...(signal && { signal }),
    }),
  rowKey: (row) => row.escalation_id,
  filters: [
    { name: "detector", label: "detector", values: ["confidence", "repetition", "failures"] },
    { name: "task_id", label: "task" },
    { name: "session_id", label: "session" },
    {
      name: "agent_id",
      label: "agent",
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
};

export const SAOP: readonly ProtocolList[] = [
  defineList(sessions),
  defineList(tasks),
  defineList(escalations),
];
