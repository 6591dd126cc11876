import { useMemo } from "preact/hooks";
import { api } from "../api/client";
import { useApi } from "../api/use_api";
import { Empty, Loaded } from "../parts/states";
import { type Column, Table } from "../parts/table";
import { Text } from "../parts/text";
import { figure, Protocol } from "./cells";
import { Chart, nameTurn } from "./chart";
import { type Decision, findTurns, type Generation, toSeries } from "./figures";
import { MOST, pick, useDecisions, type Words } from "./words";

const GENERATION_COLUMNS: readonly Column<Generation>[] = [
  { label: "protocol", wide: true, cell: ({ protocol_id }) => <Protocol id={protocol_id} /> },
  { label: "generation", number: true, cell: ({ generation }) => generation },
  { label: "transfers", number: true, cell: ({ transfers }) => transfers },
  { label: "accepted", number: true, cell: ({ accepted }) => accepted },
  { label: "outcome", number: true, cell: ({ avg_outcome }) => figure(avg_outcome) },
  { label: "drift risk", number: true, cell: ({ avg_drift_risk }) => figure(avg_drift_risk) },
  { label: "score", number: true, cell: (row) => figure(row.effectiveness_score) },
];

/** How well methods did, generation by generation. */
export function Effect({ words }: { words: Words }) {
  const query = { limit: MOST, ...pick(words, "protocol_id") };
  const generations = useApi(`generations ${JSON.stringify(query)}`, (signal) =>
    api.GET("/v1/lineage/generations", { params: { query }, signal }),
  );
  const decay = useDecisions("decay", { ...words, run_id: undefined, project_id: undefined });
  return (
    <Loaded query={generations}>
      {({ items }) => <Generations rows={items} decisions={decay.data?.items ?? []} />}
    </Loaded>
  );
}

interface GenerationsProps {
  rows: readonly Generation[];
  decisions: readonly Decision[];
}

function Generations({ rows, decisions }: GenerationsProps) {
  const series = useMemo(() => toSeries(rows), [rows]);
  const turns = useMemo(() => findTurns(series, decisions), [series, decisions]);
  const threshold = decisions.find(({ decay }) => decay !== null)?.decay?.score_threshold;
  if (rows.length === 0) return <Empty>No protocol has been transferred yet.</Empty>;
  return (
    <>
      <section class="card">
        <h2>Effectiveness by generation</h2>
        <Chart
          label="Effectiveness by generation; the table below has the same figures"
          series={series}
          turns={turns}
          threshold={threshold === undefined ? undefined : Number(threshold)}
        />
        {turns.length > 0 && (
          <ul class="lines">
            {turns.map((turn) => (
              <li key={nameTurn(turn)}>
                <span aria-hidden="true">{turn.decayed ? "▼" : "▲"}</span>{" "}
                <Text value={nameTurn(turn)} />
              </li>
            ))}
          </ul>
        )}
      </section>
      <Table
        label="Generations"
        rows={series.flatMap(({ points }) => points)}
        rowKey={(row) => `${row.protocol_id} ${row.generation}`}
        columns={GENERATION_COLUMNS}
      />
    </>
  );
}
