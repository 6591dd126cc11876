import { expect, test } from "vitest";
import { findSpan, type TraceThing, toBar, toBranches } from "../src/traces/tree";

function thing(node: string, parent: string | null, start: number, end: number | null): TraceThing {
  const at = (second: number): string => new Date(second * 1000).toISOString();
  return {
    node,
    protocol: "sap",
    kind: "sap:task",
    title: node,
    state: null,
    verdict: null,
    rule: null,
    started_at: at(start),
    ended_at: end === null ? null : at(end),
    parent,
  };
}

test("children stand below their parents, siblings by time", () => {
  const things = [
    thing("late", null, 9, 10),
    thing("early", null, 1, 5),
    thing("second", "early", 3, 4),
    thing("first", "early", 2, 3),
    thing("orphan", "elsewhere", 6, 7),
  ];
  expect(toBranches(things).map(({ thing: { node }, depth }) => [node, depth])).toEqual([
    ["early", 0],
    ["first", 1],
    ["second", 1],
    ["orphan", 0],
    ["late", 0],
  ]);
});

test("the axis holds all bars; an open thing reaches its end", () => {
  const things = [thing("a", null, 0, 2), thing("b", null, 5, null), thing("c", null, 4, 10)];
  const span = findSpan(things);
  if (span === null) throw new Error("no span");
  expect(things.map((each) => toBar(each, span))).toEqual([
    { start: 0, end: 0.2, open: false },
    { start: 0.5, end: 1, open: true },
    { start: 0.4, end: 1, open: false },
  ]);
  expect(findSpan([])).toBeNull();
});
