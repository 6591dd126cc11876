import type { Schemas } from "../api/client";

type Turn = Schemas["headrace.saop.SaopTurnLogged"];
type Escalation = Schemas["headrace.saop.SaopEscalation"];

export interface ConfidencePoint {
  turn: number;
  agent: string;
  confidence: number;
  /** The rules that escalated this turn. */
  rules: readonly string[];
}

/** The confidence of each turn, and what it escalated, by turn. */
export function toPoints(
  turns: readonly Pick<Turn, "turn">[],
  escalations: readonly Pick<Escalation, "turn_index" | "agent_id" | "rules">[],
): ConfidencePoint[] {
  return turns.map(({ turn }) => ({
    turn: turn.turn_index,
    agent: turn.agent_id,
    confidence: Number(turn.metadata.confidence),
    rules: escalations
      .filter((each) => each.turn_index === turn.turn_index && each.agent_id === turn.agent_id)
      .flatMap((each) => each.rules),
  }));
}

/** Divide the points into a line for each agent. */
export function byAgent(points: readonly ConfidencePoint[]): [string, ConfidencePoint[]][] {
  const lines = new Map<string, ConfidencePoint[]>();
  for (const point of points) lines.set(point.agent, [...(lines.get(point.agent) ?? []), point]);
  return [...lines];
}
