import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { GAP_MS, makeSpeaker } from "../src/state/announce";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("messages in the gap wait, and only the last of them is said", () => {
  const said: string[] = [];
  const announce = makeSpeaker((text) => said.push(text));
  for (const text of ["a", "b", "c"]) announce(text);
  expect(said).toEqual(["a"]);
  vi.advanceTimersByTime(GAP_MS);
  expect(said).toEqual(["a", "c"]);
  announce("d");
  vi.advanceTimersByTime(GAP_MS - 1);
  expect(said).toEqual(["a", "c"]);
  vi.advanceTimersByTime(1);
  expect(said).toEqual(["a", "c", "d"]);
  vi.advanceTimersByTime(2 * GAP_MS);
  announce("e");
  expect(said).toEqual(["a", "c", "d", "e"]);
});
