import { expect, test } from "vitest";
import { listTransitions } from "../src/protocols/apc";

const note = (event: string, at: string) => ({
  machine: "inter" as const,
  agent_id: null,
  event,
  from_state: "A",
  to_state: "B",
  applied: true,
  why: "applied" as const,
  at,
  packet_id: "p",
});

test("transitions of a session and of its agents are listed newest first", () => {
  const [early, late] = ["2026-01-01T00:00:00.000Z", "2026-01-01T00:00:01.000Z"];
  const row = { session_id: "s", agent_id: null, machine: "inter" as const, state: "B" };
  const inter = { ...row, history: [note("first", early), note("last", late)] };
  const intra = [{ ...row, history: [note("second", early)] }];
  const listed = listTransitions({ inter, intra } as Parameters<typeof listTransitions>[0]);
  expect(listed.map(({ event }) => event)).toEqual(["last", "second", "first"]);
  expect(new Set(listed.map(({ n }) => n)).size).toBe(3);
});

test("a session without coordination has none", () => {
  expect(listTransitions({ inter: null, intra: [] })).toEqual([]);
});
