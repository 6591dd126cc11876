import { expect, test } from "vitest";
import { listTimes } from "../src/parts/lineage_as_of";

test("edges of one time are one stop", () => {
  const times = ["2026-01-01T00:00:02.000Z", "2026-01-01T00:00:01.000Z"];
  expect(listTimes([...times, ...times].map((at) => ({ at })))).toEqual(times.toReversed());
});
