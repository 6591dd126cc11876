import type { Schemas } from "../api/client";

export type Teaching = Schemas["TeachingRow"];
export type Generation = Schemas["GenerationRow"];
export type Decision = Schemas["headrace.apc.ApcDecision"];

export interface Lessons {
  from: string;
  to: string;
  accepted: number;
  rejected: number;
}

/** Sum lessons over the protocols, by who taught whom. */
export function sumLessons(rows: readonly Teaching[]): Lessons[] {
  const sums = new Map<string, Lessons>();
  for (const { from_swarm: from, to_swarm: to, accepted, rejected } of rows) {
    const key = JSON.stringify([from, to]);
    const sum = sums.get(key) ?? { from, to, accepted: 0, rejected: 0 };
    sums.set(key, {
      ...sum,
      accepted: sum.accepted + accepted,
      rejected: sum.rejected + rejected,
    });
  }
  return [...sums.values()];
}

export function listSwarms(lessons: readonly Lessons[]): string[] {
  return [...new Set(lessons.flatMap(({ from, to }) => [from, to]))].sort();
}

/** A point at which a protocol decayed or recovered. */
export interface Turn {
  protocol: string;
  generation: number;
  score: number;
  decayed: boolean;
  reasons: readonly string[];
}

export interface Series {
  protocol: string;
  points: readonly Generation[];
}

/** Group generations by protocol, those with most transfers first. */
export function toSeries(rows: readonly Generation[]): Series[] {
  const series = new Map<string, Generation[]>();
  for (const row of rows) {
    const points = series.get(row.protocol_id);
    if (points === undefined) series.set(row.protocol_id, [row]);
    else points.push(row);
  }
  const transfers = (points: readonly Generation[]): number => points.at(-1)?.transfers ?? 0;
  return [...series]
    .map(([protocol, points]) => ({
      protocol,
      points: points.sort((a, b) => a.generation - b.generation),
    }))
    .sort((a, b) => transfers(b.points) - transfers(a.points));
}

/** Find the generations in which protocols decayed or recovered, by the count of transfers. */
export function findTurns(series: readonly Series[], decisions: readonly Decision[]): Turn[] {
  return decisions.flatMap(({ decay, protocol_id: protocol }) => {
    if (decay === null) return [];
    const points = series.find((each) => each.protocol === protocol)?.points ?? [];
    const point = points.find(({ transfers }) => transfers >= decay.transfer_count);
    if (point === undefined) return [];
    const { blocked: decayed, reasons } = decay;
    return [
      {
        protocol,
        generation: point.generation,
        score: point.effectiveness_score,
        decayed,
        reasons,
      },
    ];
  });
}

export interface ArbitrationSums {
  decisions: number;
  candidates: number;
  selected: number;
  blocked: number;
  rejected: number;
  reasons: readonly (readonly [string, number])[];
}

/** Leave out of a reason the protocol and the figure behind it. */
export function shortenReason(reason: string): string {
  const parts = reason.split(":");
  return parts[0] === "policy_reject" ? reason : (parts[0] ?? reason);
}

/** Sum arbitrations over runs, with the reasons of what they left out. */
export function sumArbitrations(decisions: readonly Decision[]): ArbitrationSums {
  const arbitrations = decisions.flatMap(({ arbitration }) => arbitration ?? []);
  const total = (read: (each: (typeof arbitrations)[number]) => number): number =>
    arbitrations.reduce((sum, each) => sum + read(each), 0);
  const reasons = new Map<string, number>();
  for (const { blocked, rejected } of arbitrations) {
    for (const { reason } of [...blocked, ...rejected]) {
      const name = shortenReason(reason);
      reasons.set(name, (reasons.get(name) ?? 0) + 1);
    }
  }
  return {
    decisions: arbitrations.length,
    candidates: total((each) => each.candidate_count),
    selected: total((each) => each.selected_count),
    blocked: total((each) => each.blocked_count),
    rejected: total((each) => each.rejected_count),
    reasons: [...reasons].sort(([, a], [, b]) => b - a),
  };
}
