import { useMemo } from "preact/hooks";
import { Empty } from "../parts/states";
import { type Column, Table } from "../parts/table";
import { Text } from "../parts/text";
import { Time } from "../parts/time";
import { Protocol } from "./cells";
import { sumLessons, type Teaching } from "./figures";
import { Matrix, Ring } from "./teaching";

const LESSON_COLUMNS: readonly Column<Teaching>[] = [
  { label: "teacher", cell: ({ from_swarm }) => <Text value={from_swarm} code /> },
  { label: "learner", cell: ({ to_swarm }) => <Text value={to_swarm} code /> },
  { label: "protocol", wide: true, cell: ({ protocol_id }) => <Protocol id={protocol_id} /> },
  { label: "accepted", number: true, cell: ({ accepted }) => accepted },
  { label: "refused", number: true, cell: ({ rejected }) => rejected },
  { label: "last generation", number: true, cell: ({ last_generation }) => last_generation },
  { label: "last", cell: ({ last_at }) => <Time at={last_at} /> },
];

/** Who taught whom. */
export function Lessons({ rows }: { rows: readonly Teaching[] }) {
  const lessons = useMemo(() => sumLessons(rows), [rows]);
  if (rows.length === 0) {
    return (
      <Empty>
        No swarm has taught another one. A TRANSFER packet between swarms would be counted here.
      </Empty>
    );
  }
  return (
    <>
      <div class="cards teaching">
        <section class="card">
          <h2>Lessons accepted, ✖ refused</h2>
          <Matrix lessons={lessons} />
        </section>
        <section class="card">
          <h2>The more lessons, the thicker</h2>
          <Ring lessons={lessons} />
        </section>
      </div>
      <Table
        label="Lessons by protocol"
        rows={rows}
        rowKey={(row) => JSON.stringify([row.from_swarm, row.to_swarm, row.protocol_id])}
        columns={LESSON_COLUMNS}
      />
    </>
  );
}
