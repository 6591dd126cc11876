import { describe, expect, it } from "vitest";
import { listChanges } from "../src/parts/compare";

describe("two points of a thing", () => {
  it("are compared member by member", () => {
    expect(
      listChanges({ state: "A", gone: 1, same: [1] }, { state: "B", same: [1], made: null }),
    ).toEqual([
      { path: "state", before: '"A"', after: '"B"' },
      { path: "gone", before: "1", after: "–" },
      { path: "made", before: "–", after: "null" },
    ]);
  });

  it("may be of other types", () => {
    expect(listChanges(null, { a: 1 })).toEqual([
      { path: "value", before: "null", after: '{"a":1}' },
    ]);
    expect(listChanges(1, 1)).toEqual([]);
  });
});
