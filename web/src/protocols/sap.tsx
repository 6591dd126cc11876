import type { Schemas } from "../api/client";
import { OPTIONAL_ARGUMENT } from "../parts/filters";
import { writeSpan } from "../state/clock";
import {
  column,
  countColumn,
  nodeColumn,
  playbookNode,
  positionColumn,
  stateColumn,
  textColumn,
  timeColumn,
  WINDOW,
} from "./cells";
import { defineItems, type ProtocolList } from "./define";
import type { Items } from "./items";

type Cached = Items<"/v1/sap/cache">;
type Learning = Schemas["SapLearnings"]["items"][number];

const CAPABILITY = { name: "capability", label: "capability" } as const;
const TERRITORY = { name: "territory", label: "territory" } as const;
/** The capability where the command takes it as its argument. */
const OF_CAPABILITY = { ...CAPABILITY, option: OPTIONAL_ARGUMENT } as const;

interface OfTerritory {
  capability: string | null;
  territory: string | null;
}

/** What kind of tasks a row is of. */
const KIND_COLUMNS = [
  textColumn("capability", (row: OfTerritory) => row.capability),
  textColumn("territory", (row: OfTerritory) => row.territory),
];

const learning = defineItems("/v1/sap/learning", {
  empty: "No task has ended yet: what its outcome teaches would be here.",
  rowKey: playbookNode,
  filters: [OF_CAPABILITY, TERRITORY],
  columns: [
    ...KIND_COLUMNS,
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
});

const tasks = defineItems("/v1/sap/tasks", {
  empty: "No task was asked for yet. `headrace send sap.tasks FILE` asks for one.",
  rowKey: (row) => row.taskId,
  filters: [
    {
      name: "state",
      label: "state",
      values: ["QUEUED", "RUNNING", "PARTIAL", "SUCCEEDED", "FAILED", "CANCELLED", "ESCALATED"],
    },
    CAPABILITY,
    { name: "issuer", label: "issuer" },
    ...WINDOW,
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
});

const cacheNode = ({ cacheKey, version }: Cached): string =>
  version === null ? "" : `sap:cache:${cacheKey}/${version}`;

const cache = defineItems("/v1/sap/cache", {
  empty: "Nothing is cached yet: the answer to a task that passes its constitution would be here.",
  rowKey: (row) => row.cacheKey,
  filters: [CAPABILITY, TERRITORY],
  columns: [
    nodeColumn("key", (row) => ({ node: cacheNode(row), label: row.cacheKey }), true),
    countColumn("version", (row) => row.version),
    ...KIND_COLUMNS,
    textColumn("alignment", (row) => row.alignment),
    textColumn("producer", (row) => row.producer),
    timeColumn("stored", (row) => row.storedAt),
    column("age", (row) => (row.ageSec === null ? "–" : writeSpan(row.ageSec * 1000))),
    textColumn("refused", (row) => row.refused),
  ],
});

const heuristics = defineItems("/v1/sap/heuristics", {
  empty: "No heuristics were derived yet: they come of the outcomes of tasks.",
  rowKey: (row) => `${row.capability} ${row.version}`,
  filters: [OF_CAPABILITY],
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
});

export const SAP: readonly ProtocolList[] = [tasks, cache, learning, heuristics];
