import { api, mapAnswer, queryOf, type Schemas } from "../api/client";
import type { FilterOf } from "../parts/filters";
import type { ListSpec } from "../parts/list";
import { writeRoute } from "../state/url";
import {
  countColumn,
  nodeColumn,
  nodePart,
  stateColumn,
  textColumn,
  timeColumn,
  WINDOW,
} from "./cells";
import { defineItems, defineList, type ProtocolList } from "./define";

type Task = Schemas["AsapTasks"]["tasks"][number];
type Agent = Schemas["AsapAgents"]["agents"][number];

const tasks: ListSpec<Task> = {
  tab: "tasks",
  label: "Tasks",
  path: "/v1/asap/tasks",
  writePath: (query) => writeRoute("/v1/asap/tasks", { order: "newest", ...query }),
  command: "headrace asap tasks --order newest",
  empty: "No task was requested yet. `headrace send asap.envelopes FILE` sends a request.",
  load: async (query, signal) => {
    const answer = await api.GET("/v1/asap/tasks", {
      params: { query: queryOf<"/v1/asap/tasks">({ order: "newest", ...query }) },
      ...(signal && { signal }),
    });
    return mapAnswer(answer, (data) => ({ items: data.tasks, next: data.cursor }));
  },
  rowKey: (row) => row.task.id,
  filters: [
    {
      name: "status",
      label: "status",
      values: [
        "submitted",
        "working",
        "input_required",
        "paused",
        "completed",
        "failed",
        "cancelled",
        "rejected",
      ],
    },
    { name: "conversation_id", label: "conversation", option: "--conversation" },
    { name: "requester", label: "requester" },
    { name: "worker", label: "worker" },
    { name: "skill_id", label: "skill", option: "--skill" },
    ...WINDOW,
  ] satisfies FilterOf<"/v1/asap/tasks">[],
  columns: [
    timeColumn("created", (row) => row.task.created_at),
    nodeColumn("task", (row) => ({
      node: `asap:task:${nodePart(row.task.id)}`,
      label: row.task.id,
    })),
    stateColumn("status", (row) => row.task.status),
    textColumn("skill", (row) => row.skill_id),
    textColumn("requester", (row) => row.requester, true),
    textColumn("worker", (row) => row.worker),
    countColumn("depth", (row) => row.depth),
    timeColumn("due", (row) => row.timeout_at),
  ],
};

const agents: ListSpec<Agent> = {
  tab: "agents",
  label: "Agents",
  path: "/v1/asap/agents",
  command: "headrace asap agents",
  empty: "No agent has a manifest here. `headrace send asap.manifests FILE` adds one.",
  load: async (query, signal) => {
    const answer = await api.GET("/v1/asap/agents", {
      params: { query: queryOf<"/v1/asap/agents">(query) },
      ...(signal && { signal }),
    });
    return mapAnswer(answer, (data) => ({ items: data.agents, next: data.cursor }));
  },
  rowKey: (row) => row.id,
  filters: [],
  columns: [
    textColumn("agent", (row) => row.id),
    textColumn("name", (row) => row.name),
    textColumn("version", (row) => row.version),
    textColumn("skills", (row) => row.capabilities.skills.map((each) => each.id).join(", "), true),
    textColumn("endpoint", (row) => row.endpoints.asap),
  ],
};

const conversations = defineItems("/v1/asap/conversations", {
  empty: "No task was requested yet. `headrace send asap.envelopes FILE` sends a request.",
  rowKey: (row) => row.id,
  filters: [{ name: "participant", label: "participant" }],
  columns: [
    nodeColumn(
      "conversation",
      (row) => ({ node: `asap:conversation:${nodePart(row.id)}`, label: row.id }),
      true,
    ),
    countColumn("tasks", (row) => row.tasks),
    timeColumn("first", (row) => row.created_at),
    timeColumn("last", (row) => row.last_created_at),
  ],
});

export const ASAP: readonly ProtocolList[] = [defineList(tasks), conversations, defineList(agents)];
