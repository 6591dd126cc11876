import type { Schemas } from "../api/client";

export type Machine = Schemas["StateMachine"];
type Steps = Schemas["Thing"]["steps"];

export interface Taken {
  /** The numbers of the steps that took an edge, by `from → to`. */
  edges: Map<string, number[]>;
  states: Set<string>;
}

export const edgeKey = (from: string, to: string): string => `${from} → ${to}`;

/** Find the states and edges that steps went over. */
export function findPath(steps: Steps): Taken {
  const edges = new Map<string, number[]>();
  const states = new Set<string>();
  for (const { from, to, n } of steps) {
    for (const state of [from, to]) if (state !== null) states.add(state);
    if (from === null || to === null) continue;
    const key = edgeKey(from, to);
    edges.set(key, [...(edges.get(key) ?? []), n]);
  }
  return { edges, states };
}

/** What may happen in a state: events, and where they lead. */
export function nextEdges(machine: Machine, state: string | null): Machine["edges"] {
  if (state === null || machine.terminal.includes(state)) return [];
  return machine.edges.filter((each) => each.from === state || each.from === "*");
}

/** The edges to draw: one for each pair of states, with its events; `*` is in the table alone. */
export function drawnEdges(machine: Machine): { from: string; to: string; events: string[] }[] {
  const pairs = new Map<string, { from: string; to: string; events: string[] }>();
  for (const { from, to, event } of machine.edges) {
    if (from === "*" || from === to || !machine.states.includes(from)) continue;
    const pair = pairs.get(edgeKey(from, to)) ?? { from, to, events: [] };
    pair.events.push(event);
    pairs.set(edgeKey(from, to), pair);
  }
  return [...pairs.values()];
}
