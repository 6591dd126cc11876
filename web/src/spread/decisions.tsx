import { NodeLink } from "../parts/link";
import { Empty, Loaded } from "../parts/states";
import { type Column, Table } from "../parts/table";
import { Text } from "../parts/text";
import { Time } from "../parts/time";
import { thingAddress } from "../state/url";
import { figure, Protocol } from "./cells";
import { type Decision, sumArbitrations } from "./figures";
import { useDecisions, type Words } from "./words";

const DECISION_COLUMNS: readonly Column<Decision>[] = [
  { label: "time", cell: ({ at }) => <Time at={at} /> },
  {
    label: "arbitration",
    wide: true,
    cell: ({ arbitration }) =>
      arbitration && (
        <a href={thingAddress(`apc:packet:${arbitration.packet_id}`)}>
          <Text value={arbitration.arbitration_id} code />
        </a>
      ),
  },
  { label: "protocol", cell: ({ protocol_id }) => <Protocol id={protocol_id} /> },
  { label: "run", cell: ({ arbitration }) => <Text value={arbitration?.run_id ?? "–"} code /> },
  { label: "candidates", number: true, cell: (row) => row.arbitration?.candidate_count },
  { label: "selected", number: true, cell: (row) => row.arbitration?.selected_count },
  { label: "of at most", number: true, cell: (row) => row.arbitration?.top_k },
  { label: "blocked", number: true, cell: (row) => row.arbitration?.blocked_count },
  { label: "left out", number: true, cell: (row) => row.arbitration?.rejected_count },
  { label: "best", cell: (row) => <Best decision={row} /> },
];

function Best({ decision }: { decision: Decision }) {
  const best = decision.arbitration?.ranking[0];
  if (best === undefined) return <span class="none">–</span>;
  return (
    <>
      <NodeLink node={`apc:packet:${best.packet_id}`} label={best.to_swarm} />{" "}
      {figure(best.selection_score)}
    </>
  );
}

/** What arbitrations selected, and what they left out. */
export function Decisions({ words }: { words: Words }) {
  const decisions = useDecisions("arbitration", words);
  return (
    <Loaded query={decisions}>
      {({ items }) => {
        const sums = sumArbitrations(items);
        if (items.length === 0) return <Empty>No transfer was arbitrated yet.</Empty>;
        return (
          <>
            <p>
              {sums.decisions} decisions on {sums.candidates} candidates: {sums.selected} selected,{" "}
              {sums.blocked} blocked, {sums.rejected} left out.
            </p>
            {sums.reasons.length > 0 && (
              <ul class="lines">
                {sums.reasons.map(([reason, count]) => (
                  <li key={reason}>
                    <span class="number">{count}</span> × <Text value={reason} code />
                  </li>
                ))}
              </ul>
            )}
            <Table
              label="Arbitrations"
              rows={items}
              rowKey={({ decision_id }) => decision_id}
              columns={DECISION_COLUMNS}
            />
          </>
        );
      }}
    </Loaded>
  );
}
