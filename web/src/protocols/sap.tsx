import { api, queryOf, type Schemas } from "../api/client";
import type { ListSpec } from "../parts/list";
import { countColumn, nodeColumn, nodePart, textColumn, timeColumn } from "./cells";
import { defineList, type ProtocolList } from "./define";

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

export const SAP: readonly ProtocolList[] = [defineList(learning)];
