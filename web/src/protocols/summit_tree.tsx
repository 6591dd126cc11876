import { type Answer, api, mapAnswer, queryOf, type Schemas } from "../api/client";
import { writeCommand } from "../parts/command";
import { ARGUMENT, type Filter } from "../parts/filters";
import type { ListPage, ListSpec } from "../parts/list";
import { Text } from "../parts/text";
import { address, type Parameters, thingAddress, writeRoute } from "../state/url";
import { column, countColumn, nodePart, stateColumn, textColumn, writeDollars } from "./cells";
import { defineList, type ProtocolList } from "./define";
import type { Items } from "./items";

type TreeRun = Schemas["SummitTreeRun"];
type Run = Items<"/v1/summit/runs">;

const ROUTE = "/v1/summit/runs/{runId}/tree";
const INDENT = 18;
const MOST_DEPTH = 8;

/** A run that no other has made, as the first row of its tree. */
function asRoot({ runId, parentRunId, agentId, status, metrics }: Run): TreeRun {
  const { tokens, cost_usd } = metrics;
  const usd = String(cost_usd);
  return { runId, parentRunId, agentId, status, tokens, usd, depth: 0, treeUsd: null };
}

/** The tree of the run that is named, else the runs that no other run has made. */
async function load(
  { runId, ...query }: Record<string, string>,
  signal?: AbortSignal,
): Promise<Answer<ListPage<TreeRun>>> {
  const sent = signal && { signal };
  if (runId !== undefined) {
    const tree = queryOf<typeof ROUTE>(query);
    return await api.GET(ROUTE, { params: { path: { runId }, query: tree }, ...sent });
  }
  const roots = { ...queryOf<"/v1/summit/runs">(query), root: true };
  const answer = await api.GET("/v1/summit/runs", { params: { query: roots }, ...sent });
  return mapAnswer(answer, ({ items, next }) => ({ items: items.map(asRoot), next }));
}

const FILTERS: readonly Filter[] = [{ name: "runId", label: "run", option: ARGUMENT }];

const spec: ListSpec<TreeRun> = {
  tab: "tree",
  label: "Tree",
  path: ROUTE,
  writePath: (query) =>
    query["runId"] === undefined
      ? writeRoute("/v1/summit/runs", { ...query, root: "true" })
      : writeRoute(ROUTE, query),
  command: "headrace summit tree",
  empty: "No agent was called yet. `headrace summit invoke` calls one.",
  load,
  rowKey: (row) => row.runId,
  filters: FILTERS,
  columns: [
    column(
      "run",
      (row) => (
        <span style={{ paddingInlineStart: `${Math.min(row.depth, MOST_DEPTH) * INDENT}px` }}>
          {row.depth > 0 && <span class="muted">└ </span>}
          <a href={thingAddress(`summit:run:${nodePart(row.runId)}`)}>
            <Text value={row.runId} code />
          </a>
        </span>
      ),
      true,
    ),
    countColumn("depth", (row) => row.depth),
    stateColumn("state", (row) => row.status),
    textColumn("agent", (row) => row.agentId),
    countColumn("tokens", (row) => row.tokens),
    { label: "cost", number: true, cell: (row) => writeDollars(row.usd) },
    {
      label: "with those below",
      number: true,
      cell: (row) => (row.treeUsd === null ? "–" : writeDollars(row.treeUsd)),
    },
    column("below", (row) => (
      <a href={address(["summit"], { tab: "tree", runId: row.runId })}>tree</a>
    )),
  ],
};

const list = defineList(spec);

/** Runs as trees: those at the top, or one of them with all that is below it. */
export const TREE: ProtocolList = {
  ...list,
  command: (query: Parameters) =>
    query["runId"] === undefined
      ? "headrace summit runs --root"
      : writeCommand(spec.command, FILTERS, query),
};
