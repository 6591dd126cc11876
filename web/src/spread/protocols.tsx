import { api, type Schemas } from "../api/client";
import { useApi } from "../api/use_api";
import { Empty, Loaded } from "../parts/states";
import { type Column, Table } from "../parts/table";
import { figure, Protocol } from "./cells";
import { MOST, pick, type Words } from "./words";

type Rated = Schemas["Effectiveness"]["items"][number];

const RATED_COLUMNS: readonly Column<Rated>[] = [
  { label: "protocol", wide: true, cell: ({ protocol_id }) => <Protocol id={protocol_id} /> },
  { label: "transfers", number: true, cell: ({ transfer_count }) => transfer_count },
  { label: "accepted", number: true, cell: ({ accepted_count }) => accepted_count },
  { label: "runs", number: true, cell: ({ run_count }) => run_count },
  { label: "tasks", number: true, cell: ({ task_count }) => task_count },
  { label: "outcome", number: true, cell: ({ avg_outcome }) => figure(avg_outcome) },
  { label: "drift risk", number: true, cell: ({ avg_drift_risk }) => figure(avg_drift_risk) },
];

/** The protocols that were rated. */
export function Protocols({ words }: { words: Words }) {
  const query = { limit: MOST, ...pick(words, "run_id", "project_id") };
  const rated = useApi(`effectiveness ${JSON.stringify(query)}`, (signal) =>
    api.GET("/v1/lineage/effectiveness", { params: { query }, signal }),
  );
  return (
    <Loaded query={rated}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty>No protocol has been rated yet.</Empty>
        ) : (
          <Table
            label="Rated protocols"
            rows={items}
            rowKey={({ protocol_id }) => protocol_id}
            columns={RATED_COLUMNS}
          />
        )
      }
    </Loaded>
  );
}
