import { useEffect, useMemo, useState } from "preact/hooks";
import { api, type Problem, queryOf, type Schemas } from "../api/client";
import { useLatestData } from "../api/latest";
import { useApi } from "../api/use_api";
import { type DrawnNode, foldGraph } from "../graph/fold";
import { writeCommand } from "../parts/command";
import { ARGUMENT, FilterBar } from "../parts/filters";
import { addressOf } from "../parts/find";
import { Graph } from "../parts/graph";
import { LineageAsOf } from "../parts/lineage_as_of";
import { NodeLink, PositionLink } from "../parts/link";
import { Page } from "../parts/page";
import { Empty, isStale, Loaded } from "../parts/states";
import { type Column, Table } from "../parts/table";
import { Tabs } from "../parts/tabs";
import { Time } from "../parts/time";
import { noteAnswer } from "../state/ready";
import { routeParameters, useUrl, writeQuery } from "../state/url";
import "../style/graph.css";

type Data = Schemas["LineageGraph"];
type Edge = Schemas["headrace.core.LineageEdge"];

/** How many nodes are drawn at most. */
const DRAWN = 2000;
const EDGES = "10000";

const FILTERS = [
  { name: "node", label: "node", option: ARGUMENT },
  {
    name: "direction",
    label: "direction",
    values: ["both", "ancestors", "descendants", "blast_radius"],
  },
  { name: "depth", label: "depth", values: ["1", "2", "3", "5", "10", "20"] },
  { name: "as_of", label: "as of", option: null },
];

const EDGE_COLUMNS: readonly Column<Edge>[] = [
  { label: "time", cell: ({ at }) => <Time at={at} /> },
  { label: "later", cell: ({ from_node }) => <NodeLink node={from_node} />, wide: true },
  { label: "relation", cell: ({ relation }) => relation },
  { label: "earlier", cell: ({ to_node }) => <NodeLink node={to_node} /> },
  { label: "cause", cell: ({ cause }) => <PositionLink position={cause} /> },
];

/** What a thing came of, and what came of it. */
export default function LineagePage() {
  const { query, change } = useUrl();
  const words = routeParameters(query);
  const node = words["node"];
  const path = `/v1/lineage/graph${writeQuery(words)}`;
  const load = (wanted: Record<string, string>) => (signal: AbortSignal) =>
    api.GET("/v1/lineage/graph", {
      params: { query: queryOf<"/v1/lineage/graph">({ limit: EDGES, ...wanted }) },
      signal,
    });
  const graph = useApi(node === undefined ? null : path, load(words));
  const { as_of: asOf, ...present } = words;
  const whole = useApi(
    node === undefined || asOf === undefined ? null : `${writeQuery(present)} whole`,
    load(present),
  );
  const shown = useLatestData(graph, writeQuery(present));
  const all = useLatestData(asOf === undefined ? graph : whole, `${writeQuery(present)} whole`);
  return (
    <Page
      name="lineage"
      title="Lineage"
      source={{ path, command: writeCommand("headrace lineage", FILTERS, words) }}
      stale={isStale(graph)}
      asOf={graph.data && asOf}
    >
      <FilterBar filters={FILTERS} problem={graph.problem} withText={false} />
      <LineageAsOf edges={all.data?.items ?? []} asOf={asOf} />
      {node === undefined ? (
        <Start />
      ) : (
        <Loaded query={shown}>
          {(data) => (
            <Drawing
              key={node}
              data={data}
              problem={graph.problem}
              onNext={
                data.next === null ? undefined : () => change({ cursor: data.next ?? "" }, false)
              }
            />
          )}
        </Loaded>
      )}
    </Page>
  );
}

function Start() {
  useEffect(() => noteAnswer(), []);
  return (
    <Empty>
      Name a node, as <code>trace:…</code> or <code>apc:packet:…</code>, or find a thing with Ctrl K
      and go to its lineage from there.
    </Empty>
  );
}

interface DrawingProps {
  data: Data;
  problem: Problem | undefined;
  onNext: (() => void) | undefined;
}

function Drawing({ data, onNext }: DrawingProps) {
  const { go } = useUrl();
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const drawn = useMemo(() => {
    const nodes = data.nodes.slice(0, DRAWN);
    return foldGraph(data.node, nodes, data.items, opened);
  }, [data, opened]);
  const folded = drawn.nodes.reduce((sum, { members }) => sum + members.length, 0);
  const onOpen = (node: DrawnNode): void => {
    if (node.members.length > 0) setOpened(new Set([...opened, node.id]));
    else go(addressOf(node.kind, node.id));
  };
  return (
    <>
      <p>
        <NodeLink node={data.node} />: {data.nodes.length.toLocaleString("en")} nodes,{" "}
        {data.items.length.toLocaleString("en")} edges
        {folded > 0 && `, ${folded.toLocaleString("en")} nodes folded`}.{" "}
        {data.nodes.length > DRAWN && (
          <strong>
            {DRAWN.toLocaleString("en")} of {data.nodes.length.toLocaleString("en")} are drawn; the
            table has all.{" "}
          </strong>
        )}
        {data.cut && (
          <strong>
            Cut by {data.cut.by} at {data.cut.bound.toLocaleString("en")}.{" "}
          </strong>
        )}
        {onNext && (
          <button type="button" class="quiet" onClick={onNext}>
            Next page
          </button>
        )}
        {opened.size > 0 && (
          <button type="button" class="quiet" onClick={() => setOpened(new Set())}>
            Fold again
          </button>
        )}
      </p>
      <Tabs
        label="Lineage"
        tabs={[
          {
            name: "graph",
            label: "Graph",
            render: () => (
              <Graph
                start={data.node}
                graph={drawn}
                total={data.nodes.length}
                folded={folded}
                onOpen={onOpen}
              />
            ),
          },
          {
            name: "table",
            label: "Table",
            count: data.items.length,
            render: () => (
              <Table
                label="Edges"
                rows={data.items}
                rowKey={({ edge_id }) => edge_id}
                columns={EDGE_COLUMNS}
              />
            ),
          },
        ]}
      />
    </>
  );
}
