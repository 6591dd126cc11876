import { expect, test } from "vitest";
import {
  type Decision,
  findTurns,
  type Generation,
  sumArbitrations,
  sumLessons,
  toSeries,
} from "../src/spread/figures";

const at = "2026-01-01T00:00:00Z";

function lesson(from_swarm: string, to_swarm: string, protocol_id: string, accepted: number) {
  return {
    from_swarm,
    to_swarm,
    protocol_id,
    accepted,
    rejected: 1,
    last_generation: 1,
    last_at: at,
  };
}

function generation(number: number, transfers: number): Generation {
  return {
    protocol_id: "p",
    generation: number,
    transfers,
    accepted: transfers,
    avg_outcome: null,
    avg_drift_risk: null,
    effectiveness_score: 0.5,
  };
}

test("lessons are summed over the protocols", () => {
  const rows = [lesson("a", "b", "p", 3), lesson("a", "b", "q", 4), lesson("b", "a", "p", 1)];
  expect(sumLessons(rows)).toEqual([
    { from: "a", to: "b", accepted: 7, rejected: 2 },
    { from: "b", to: "a", accepted: 1, rejected: 1 },
  ]);
});

test("a decay stands at the generation whose transfers it counted", () => {
  const series = toSeries([generation(12, 6), generation(10, 2), generation(11, 4)]);
  expect(series[0]?.points.map((each) => each.generation)).toEqual([10, 11, 12]);
  const decay: Decision["decay"] = {
    blocked: true,
    reasons: ["drift_unmeasured"],
    transfer_count: 3,
    accepted_count: 3,
    effectiveness_score: 0.5,
    score_threshold: 0.35,
    avg_drift_risk: null,
    drift_used: 1,
    drift_threshold: 0.75,
    lineage_version: 1,
  };
  const decision: Decision = {
    decision_id: "d",
    kind: "decay",
    protocol_id: "p",
    at,
    cause: "apc.transfers/0/0",
    decay,
    arbitration: null,
  };
  expect(findTurns(series, [decision])).toMatchObject([{ generation: 11, decayed: true }]);
  expect(sumArbitrations([decision])).toMatchObject({ decisions: 0, reasons: [] });
});
