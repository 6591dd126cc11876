import { api, queryOf, type Schemas } from "../api/client";
import { AgentMap } from "../parts/agent_map";
import { writeCommand } from "../parts/command";
import { List, type ListSpec } from "../parts/list";
import { Page } from "../parts/page";
import { Tabs } from "../parts/tabs";
import { Text } from "../parts/text";
import { Time } from "../parts/time";
import { PROTOCOLS } from "../protocols/names";
import { address, routeParameters, useUrl, writeQuery } from "../state/url";

type Row = Schemas["AgentPage"]["items"][number];

/** The share of refused commands, in per cent. */
export function refusedShare(row: Row): string {
  const all = row.accepted + row.duplicate + row.rejected;
  return all === 0 ? "–" : `${((100 * row.rejected) / all).toFixed(1)} %`;
}

const SPEC: ListSpec<Row> = {
  tab: "list",
  label: "Agents",
  path: "/v1/agents",
  command: "headrace agents",
  empty: "No agent has sent anything yet.",
  load: (query, signal) =>
    api.GET("/v1/agents", {
      params: { query: queryOf<"/v1/agents">(query) },
      ...(signal && { signal }),
    }),
  rowKey: (row) => `${row.protocol} ${row.agent}`,
  filters: [
    { name: "protocol", label: "protocol", values: [...PROTOCOLS, "otel"] },
    { name: "from", label: "since" },
  ],
  columns: [
    {
      label: "agent",
      wide: true,
      cell: (row) => (
        <a href={address(["verdicts"], { agent: row.agent, protocol: row.protocol })}>
          <Text value={row.agent} code />
        </a>
      ),
    },
    { label: "protocol", cell: (row) => row.protocol },
    { label: "accepted", number: true, cell: (row) => row.accepted.toLocaleString("en") },
    { label: "duplicate", number: true, cell: (row) => row.duplicate.toLocaleString("en") },
    { label: "refused", number: true, cell: (row) => row.rejected.toLocaleString("en") },
    { label: "share refused", number: true, cell: refusedShare },
    { label: "last", cell: (row) => <Time at={row.last_at} /> },
    { label: "last rule", cell: (row) => <Text value={row.last_rule} code /> },
  ],
};

export default function Agents() {
  const { query } = useUrl();
  return (
    <Page
      name="agents"
      title="Agents"
      source={{
        path: `/v1/agents${writeQuery(routeParameters(query))}`,
        command: writeCommand(SPEC.command, SPEC.filters, query),
      }}
    >
      <Tabs
        label="Agents"
        tabs={[
          { name: "list", label: "List", render: () => <List spec={SPEC} /> },
          { name: "map", label: "Map", render: () => <AgentMap /> },
        ]}
      />
    </Page>
  );
}
