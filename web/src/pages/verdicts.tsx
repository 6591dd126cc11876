import { api, queryOf, type Schemas } from "../api/client";
import { useOverview } from "../api/overview";
import { Bars } from "../parts/bars";
import { Verdict } from "../parts/chip";
import { writeCommand } from "../parts/command";
import type { FilterOf } from "../parts/filters";
import { NodeLink, PositionLink } from "../parts/link";
import { List, type ListSpec } from "../parts/list";
import { Page } from "../parts/page";
import { Text } from "../parts/text";
import { Time } from "../parts/time";
import { PROTOCOLS } from "../protocols/names";
import { address, routeParameters, useUrl, writeQuery } from "../state/url";

type Row = Schemas["VerdictPage"]["items"][number];

const SPEC: ListSpec<Row> = {
  tab: "verdicts",
  label: "Refusals and duplicates",
  path: "/v1/verdicts",
  command: "headrace verdicts",
  empty: "Nothing was refused, and nothing came twice.",
  load: (query, signal) =>
    api.GET("/v1/verdicts", {
      params: { query: queryOf<"/v1/verdicts">(query) },
      ...(signal && { signal }),
    }),
  rowKey: (row) => row.fact,
  filters: [
    { name: "protocol", label: "protocol", values: [...PROTOCOLS, "otel"] },
    { name: "verdict", label: "verdict", values: ["rejected", "duplicate"] },
    { name: "fault", label: "fault", values: ["sender", "service", "infrastructure"] },
    { name: "rule", label: "rule" },
    { name: "agent", label: "agent" },
    { name: "principal", label: "principal" },
    { name: "from", label: "from" },
    { name: "to", label: "to" },
  ] satisfies FilterOf<"/v1/verdicts">[],
  columns: [
    { label: "time", cell: (row) => <Time at={row.at} /> },
    { label: "protocol", cell: (row) => row.protocol },
    { label: "verdict", cell: (row) => <Verdict verdict={row.verdict} rule={row.rule} /> },
    { label: "reason", wide: true, cell: (row) => <Text value={row.message ?? ""} /> },
    { label: "thing", cell: (row) => <NodeLink node={row.node} label={row.title} /> },
    { label: "agent", cell: (row) => <Text value={row.agent ?? "–"} code /> },
    { label: "command", cell: (row) => <PositionLink position={row.cause} /> },
  ],
};

export default function Verdicts() {
  const { query } = useUrl();
  const search = writeQuery(routeParameters(query));
  return (
    <Page
      name="verdicts"
      title="Refusals"
      source={{
        path: `/v1/verdicts${search}`,
        command: writeCommand(SPEC.command, SPEC.filters, query),
      }}
    >
      <div class="beside">
        <div>
          <List spec={SPEC} />
        </div>
        <Rules protocol={query["protocol"]} verdict={query["verdict"]} />
      </div>
    </Page>
  );
}

/** The rules of the last day, with their counts. */
function Rules({
  protocol,
  verdict,
}: {
  protocol: string | undefined;
  verdict: string | undefined;
}) {
  const overview = useOverview("24h");
  const rules = (overview.data?.rules ?? []).filter(
    (each) =>
      (each.verdict === "rejected" || each.verdict === "duplicate") &&
      (!protocol || each.protocol === protocol) &&
      (!verdict || each.verdict === verdict),
  );
  return (
    <section class="card">
      <h2>Rules of the last 24 h</h2>
      <Bars
        rows={rules.map((each) => ({
          key: `${each.topic} ${each.verdict} ${each.rule}`,
          label: each.rule,
          detail: each.protocol,
          value: each.count,
          href: address(["verdicts"], {
            protocol: each.protocol,
            rule: each.rule,
            verdict: each.verdict,
          }),
        }))}
      />
    </section>
  );
}
