import { api, queryOf, type Schemas } from "../api/client";
import type { ListSpec } from "../parts/list";
import { writeSpan } from "../state/clock";
import {
  column,
  countColumn,
  nodeColumn,
  nodePart,
  positionColumn,
  stateColumn,
  textColumn,
  timeColumn,
} from "./cells";
import { defineList, type ProtocolList } from "./define";
import type { Items } from "./items";

type Task = Items<"/v1/sap/tasks">;
type Cached = Items<"/v1/sap/cache">;
type Heuristics = Items<"/v1/sap/heuristics">;
type Learning = Schemas["SapLearnings"]["items"][number];

const playbookNode = (row: Learning): string =>
  `sap:playbook:${[row.capability, row.territory ?? "", row.fingerprint].map(nodePart).join("/")}`;

const learning: ListSpec<Learning> = {
  tab: "learning",
  label: "Learning",
  path: "/v1/sap/learning",
  command: "headrace sap learning",
  empty: "No task has ended yet.",
  load: (query, signal) =>
    api.GET("/v1/sap/learning", {
      params: { query: queryOf<"/v1/sap/learning">(query) },
      ...(signal && { signal }),
    }),
  rowKey: playbookNode,
  filters: [
    { name: "capability", label: "capability" },
    { name: "territory", label: "territory" },
  ],
  columns: [
    textColumn("capability", (row) => row.capability),
    textColumn("territory", (row) => row.territory),
    {
      ...nodeColumn<Learning>("playbook", (row) => ({
        node: row.playbook ? playbookNode(row) : "",
        label: row.playbook ? `${row.playbook.kind} ${row.playbook.version}` : "–",
      })),
      wide: true,
    },
    countColumn("outcomes", (row) => row.outcomes),
    countColumn("cache hits", (row) => row.cacheHits),
    countColumn("approved", (row) => row.approved),
    countColumn("refused", (row) => row.rejected),
    countColumn("rating", (row) => row.ratings.mean),
    timeColumn("last", (row) => row.lastAt),
  ],
};

const tasks: ListSpec<Task> = {
  tab: "tasks",
  label: "Tasks",
  path: "/v1/sap/tasks",
  command: "headrace sap tasks",
  empty: "No task was asked for yet.",
  load: (query, signal) =>
    api.GET("/v1/sap/tasks", {
      params: { query: queryOf<"/v1/sap/tasks">(query) },
      ...(signal && { signal }),
    }),
  rowKey: (row) => row.taskId,
  filters: [
    {
      name: "state",
      label: "state",
      values: ["QUEUED", "RUNNING", "PARTIAL", "SUCCEEDED", "FAILED", "CANCELLED", "ESCALATED"],
    },
    { name: "capability", label: "capability" },
    { name: "issuer", label: "issuer" },
    { name: "from", label: "from" },
    { name: "to", label: "to" },
  ],
  columns: [
    timeColumn("accepted", (row) => row.acceptedAt),
    nodeColumn("task", (row) => ({ node: `sap:task:${row.taskId}`, label: row.taskId }), true),
    stateColumn("state", (row) => row.state),
    textColumn("capability", (row) => row.target.capability),
    textColumn("issuer", (row) => row.issuer.agentId),
    textColumn("producer", (row) => row.producer?.agentId),
    textColumn("cache", (row) => row.cacheState),
    textColumn("alignment", (row) => row.lastAlignment),
    timeColumn("closed", (row) => row.closedAt),
    positionColumn("command", (row) => row.position),
  ],
};

const cacheNode = ({ cacheKey, version }: Cached): string =>
  version === null ? "" : `sap:cache:${cacheKey}/${version}`;

const cache: ListSpec<Cached> = {
  tab: "cache",
  label: "Cache",
  path: "/v1/sap/cache",
  command: "headrace sap cache",
  empty: "Nothing is cached yet.",
  load: (query, signal) =>
    api.GET("/v1/sap/cache", {
      params: { query: queryOf<"/v1/sap/cache">(query) },
      ...(signal && { signal }),
    }),
  rowKey: (row) => row.cacheKey,
  filters: [
    { name: "capability", label: "capability" },
    { name: "territory", label: "territory" },
  ],
  columns: [
    nodeColumn("key", (row) => ({ node: cacheNode(row), label: row.cacheKey }), true),
    countColumn("version", (row) => row.version),
    textColumn("capability", (row) => row.capability),
    textColumn("territory", (row) => row.territory),
    textColumn("alignment", (row) => row.alignment),
    textColumn("producer", (row) => row.producer),
    timeColumn("stored", (row) => row.storedAt),
    column("age", (row) => (row.ageSec === null ? "–" : writeSpan(row.ageSec * 1000))),
    textColumn("refused", (row) => row.refused),
  ],
};

const heuristics: ListSpec<Heuristics> = {
  tab: "heuristics",
  label: "Heuristics",
  path: "/v1/sap/heuristics",
  command: "headrace sap heuristics",
  empty: "No heuristics were derived yet.",
  load: (query, signal) =>
    api.GET("/v1/sap/heuristics", {
      params: { query: queryOf<"/v1/sap/heuristics">(query) },
      ...(signal && { signal }),
    }),
  rowKey: (row) => `${row.capability} ${row.version}`,
  filters: [{ name: "capability", label: "capability" }],
  columns: [
    nodeColumn("heuristics", (row) => ({
      node: `sap:heuristics:${row.capability}/${row.version}`,
      label: row.capability,
    })),
    countColumn("version", (row) => row.version),
    textColumn("volatile keys", (row) => row.volatileKeys.join(", ")),
    textColumn("blocked keys", (row) => row.blockedKeys.join(", ")),
    textColumn("extra checks", (row) => row.extraChecks.join(", "), true),
    timeColumn("derived", (row) => row.derivedAt),
    positionColumn("command", (row) => row.cause),
  ],
};

export const SAP: readonly ProtocolList[] = [
  defineList(tasks),
  defineList(cache),
  defineList(learning),
  defineList(heuristics),
];
