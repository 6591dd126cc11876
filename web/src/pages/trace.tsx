import { useMemo } from "preact/hooks";
import { useRoute } from "preact-iso";
import { api, type Schemas } from "../api/client";
import { useApi } from "../api/use_api";
import { State, Verdict } from "../parts/chip";
import { quote } from "../parts/copy";
import { NodeLink } from "../parts/link";
import { Page } from "../parts/page";
import { Empty, isStale, Loaded } from "../parts/states";
import { type Column, Table } from "../parts/table";
import { Id } from "../parts/text";
import { Time } from "../parts/time";
import { writeSpan } from "../state/clock";
import { address, useUrl, writeQuery } from "../state/url";
import { type Branch, findSpan, type Span, toBar, toBranches } from "../traces/tree";
import "../style/trace.css";

const CHART = 1000;
const LEAST = 6;
const DEEPEST = 8;

/** All things of a trace over the protocols, on one axis of time. */
export default function TracePage() {
  const id = useRoute().params["id"] ?? "";
  const { query } = useUrl();
  const asOf = query["as_of"];
  const path = `/v1/traces/${encodeURIComponent(id)}${writeQuery({ as_of: asOf })}`;
  const trace = useApi(path, (signal) =>
    api.GET("/v1/traces/{trace_id}", {
      params: { path: { trace_id: id }, query: asOf ? { as_of: asOf } : {} },
      signal,
    }),
  );
  return (
    <Page
      name="trace"
      title={`Trace ${id}`}
      source={{
        path,
        command: `headrace trace ${quote(id)}${asOf ? ` --as-of ${quote(asOf)}` : ""}`,
      }}
      stale={isStale(trace)}
      asOf={asOf}
      beside={<a href={address(["lineage"], { node: `trace:${id}` })}>Lineage</a>}
    >
      <Loaded query={trace}>{(data) => <Waterfall data={data} />}</Loaded>
    </Page>
  );
}

function Waterfall({ data }: { data: Schemas["TraceThings"] }) {
  const branches = useMemo(() => toBranches(data.items), [data]);
  const span = useMemo(() => findSpan(data.items), [data]);
  const columns = useMemo(() => listColumns(span), [span]);
  if (branches.length === 0) return <Empty>Nothing came of this trace.</Empty>;
  return (
    <>
      <p>
        {branches.length.toLocaleString("en")} things
        {span && (
          <>
            {" "}
            in {writeSpan(span.to - span.from)}, from{" "}
            <Time at={new Date(span.from).toISOString()} /> on
          </>
        )}
        .{" "}
        {data.cut && (
          <strong>
            Cut by {data.cut.by} at {data.cut.bound.toLocaleString("en")}.
          </strong>
        )}
      </p>
      <Table
        label="Things of the trace"
        rows={branches}
        rowKey={({ thing }) => thing.node}
        columns={columns}
      />
    </>
  );
}

function listColumns(span: Span | null): readonly Column<Branch>[] {
  return [
    { label: "protocol", cell: ({ thing }) => thing.protocol },
    {
      label: "thing",
      cell: ({ thing, depth }) => (
        <span class="branch" style={{ paddingInlineStart: `${Math.min(depth, DEEPEST) * 16}px` }}>
          {depth > 0 && (
            <span class="muted" aria-hidden="true">
              └{" "}
            </span>
          )}
          <NodeLink node={thing.node} label={thing.title} />
        </span>
      ),
    },
    { label: "state", cell: ({ thing }) => <State value={thing.state} /> },
    {
      label: "verdict",
      cell: ({ thing }) => <Verdict verdict={thing.verdict} rule={thing.rule} />,
    },
    { label: "started", cell: ({ thing }) => <Time at={thing.started_at} /> },
    { label: "took", number: true, cell: ({ thing }) => <Took thing={thing} /> },
    ...(span
      ? [{ label: "axis", wide: true, cell: (row: Branch) => <Axis row={row} span={span} /> }]
      : []),
  ];
}

function Took({ thing }: { thing: Branch["thing"] }) {
  if (thing.started_at === null) return <Id value="–" />;
  if (thing.ended_at === null) return <span class="muted">open</span>;
  return <>{writeSpan(Date.parse(thing.ended_at) - Date.parse(thing.started_at))}</>;
}

function Axis({ row, span }: { row: Branch; span: Span }) {
  const bar = toBar(row.thing, span);
  if (bar === null) return null;
  const room = CHART - LEAST;
  return (
    <svg class="axis" viewBox={`0 0 ${CHART} 16`} preserveAspectRatio="none" aria-hidden="true">
      <rect
        class={bar.open ? "open" : row.thing.verdict === "rejected" ? "refused" : "ended"}
        x={bar.start * room}
        y={4}
        width={(bar.end - bar.start) * room + LEAST}
        height={8}
      />
    </svg>
  );
}
