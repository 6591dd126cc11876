import { api, type Schemas } from "../api/client";
import { useApi } from "../api/use_api";
import { Empty, Loaded } from "../parts/states";
import { type Column, Table } from "../parts/table";
import { Text } from "../parts/text";
import { Time } from "../parts/time";
import { Protocol } from "./cells";
import { MOST, pick, type Words } from "./words";

type Throttle = Schemas["headrace.apc.ApcThrottle"];

const THROTTLE_COLUMNS: readonly Column<Throttle>[] = [
  { label: "last", cell: ({ updated_at }) => <Time at={updated_at} /> },
  { label: "teacher", cell: ({ from_swarm }) => <Text value={from_swarm} code /> },
  { label: "protocol", wide: true, cell: ({ protocol_id }) => <Protocol id={protocol_id} /> },
  { label: "generation", number: true, cell: ({ generation }) => generation },
  { label: "window", cell: ({ window }) => <Text value={window.replaceAll("_", " ")} /> },
  {
    label: "receivers",
    cell: ({ receivers }) => (
      <Text value={receivers.map((each) => each.to_swarm).join(", ") || "–"} code />
    ),
  },
  {
    label: "places left",
    number: true,
    cell: ({ last_top_k, receivers }) =>
      last_top_k === null ? "–" : Math.max(0, last_top_k - receivers.length),
  },
  { label: "accepted", number: true, cell: ({ accepted }) => accepted },
  {
    label: "refused",
    cell: ({ rejected }) => {
      const counts = Object.entries(rejected).map(([rule, count]) => `${rule} ${count}`);
      return <Text value={counts.join(", ") || "–"} code />;
    },
  },
];

/** How many swarms a teacher may still reach. */
export function Throttling({ words }: { words: Words }) {
  const query = { limit: MOST, ...pick(words, "run_id", "protocol_id") };
  const rows = useApi(`throttling ${JSON.stringify(query)}`, (signal) =>
    api.GET("/v1/apc/throttling", { params: { query }, signal }),
  );
  return (
    <Loaded query={rows}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty>No transfer has been throttled yet.</Empty>
        ) : (
          <Table
            label="Throttling"
            rows={items}
            rowKey={(row) =>
              JSON.stringify([
                row.session_id,
                row.run_id,
                row.generation,
                row.protocol_id,
                row.from_swarm,
              ])
            }
            columns={THROTTLE_COLUMNS}
          />
        )
      }
    </Loaded>
  );
}
