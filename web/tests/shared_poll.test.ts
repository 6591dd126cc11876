import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { State } from "../src/api/poll";
import { SharedPoll } from "../src/api/shared_poll";

let asked = 0;
const load = async () => {
  asked += 1;
  return { data: asked, response: new Response(null, { status: 200 }) };
};

beforeEach(() => {
  asked = 0;
  vi.useFakeTimers();
  vi.stubGlobal("window", globalThis);
  vi.stubGlobal("document", {
    hidden: false,
    addEventListener: () => {},
    removeEventListener: () => {},
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("parts that show the same answer share its requests, and a late one has it at once", async () => {
  const shared = new SharedPoll<number>();
  const [first, second]: (number | undefined)[][] = [[], []];
  const hear = (heard: (number | undefined)[]) => (state: State<number>) => heard.push(state.data);
  const leave = shared.join(load, hear(first ?? []));
  await vi.advanceTimersByTimeAsync(0);
  const leaveToo = shared.join(load, hear(second ?? []));
  expect([first, second]).toEqual([[1], [1]]);
  await vi.advanceTimersByTimeAsync(2000);
  expect([first, second, asked]).toEqual([[1, 2], [1, 2], 2]);
  leave();
  await vi.advanceTimersByTimeAsync(2000);
  expect([first, second]).toEqual([
    [1, 2],
    [1, 2, 3],
  ]);
  leaveToo();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(asked).toBe(3);
});

test("who joins after all have left has no old answer", async () => {
  const shared = new SharedPoll<number>();
  shared.join(load, () => {})();
  await vi.advanceTimersByTimeAsync(0);
  const heard: (number | undefined)[] = [];
  const leave = shared.join(load, (state) => heard.push(state.data));
  expect(heard).toEqual([]);
  await vi.advanceTimersByTimeAsync(0);
  expect(heard).toEqual([2]);
  leave();
});
