import type { Schemas } from "../api/client";

export type TraceThing = Schemas["TraceThing"];

/** A thing of a trace below its parent. */
export interface Branch {
  thing: TraceThing;
  depth: number;
}

/** The time that all things of a trace take together, in epoch milliseconds. */
export interface Span {
  from: number;
  to: number;
}

/** A part of a span, from 0 to 1.  An open one has no end yet. */
export interface Bar {
  start: number;
  end: number;
  open: boolean;
}

/** Put the things of a trace in order, children below their parents, siblings by time. */
export function toBranches(things: readonly TraceThing[]): Branch[] {
  const present = new Set(things.map(({ node }) => node));
  const children = new Map<string | null, TraceThing[]>();
  for (const thing of things) {
    const parent = thing.parent !== null && present.has(thing.parent) ? thing.parent : null;
    const siblings = children.get(parent);
    if (siblings === undefined) children.set(parent, [thing]);
    else siblings.push(thing);
  }
  const branches: Branch[] = [];
  const placed = new Set<string>();
  const stack = toStack(children.get(null) ?? [], 0);
  for (let branch = stack.pop(); branch !== undefined; branch = stack.pop()) {
    if (placed.has(branch.thing.node)) continue;
    placed.add(branch.thing.node);
    branches.push(branch);
    stack.push(...toStack(children.get(branch.thing.node) ?? [], branch.depth + 1));
  }
  return branches;
}

/** Return siblings as a stack, the first one on top. */
function toStack(siblings: readonly TraceThing[], depth: number): Branch[] {
  return [...siblings]
    .sort((a, b) => (b.started_at ?? "").localeCompare(a.started_at ?? ""))
    .map((thing) => ({ thing, depth }));
}

/** Return the span of all things; null if none has a time. */
export function findSpan(things: readonly TraceThing[]): Span | null {
  const times = things
    .flatMap(({ started_at, ended_at }) => [started_at, ended_at])
    .flatMap((each) => (each === null ? [] : [Date.parse(each)]));
  if (times.length === 0) return null;
  const ends = times.reduce(
    (span, each) => ({ from: Math.min(span.from, each), to: Math.max(span.to, each) }),
    { from: Number.POSITIVE_INFINITY, to: Number.NEGATIVE_INFINITY },
  );
  return ends;
}

export function toBar(thing: TraceThing, span: Span): Bar | null {
  if (thing.started_at === null) return null;
  const length = Math.max(1, span.to - span.from);
  const start = (Date.parse(thing.started_at) - span.from) / length;
  const open = thing.ended_at === null;
  const end = thing.ended_at === null ? 1 : (Date.parse(thing.ended_at) - span.from) / length;
  return { start, end: Math.max(start, end), open };
}
