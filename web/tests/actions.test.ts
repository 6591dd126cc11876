import { afterEach, expect, test, vi } from "vitest";
import { api, readProblem } from "../src/api/client";
import { listActions } from "../src/protocols/actions";

const TASK = { taskId: "t-1", correlationId: "c-1" };
const REWIND = { session_id: "s-1", rewind_id: "r-1", moved: [{}, {}], git_hash: "5c0ffee1" };

afterEach(() => vi.restoreAllMocks());

const labels = (kind: string, terminal: boolean, details: object): string[] =>
  listActions({ kind, terminal, details }).map(({ label }) => label);

test("an open task can be cancelled, and one that has ended be judged", () => {
  expect(labels("sap:task", false, TASK)).toEqual(["Cancel task", "Add note"]);
  expect(labels("sap:task", true, TASK)).toEqual([
    "Approve result",
    "Reject result",
    "Rate result",
    "Add note",
  ]);
});

test("a task that was never accepted takes no signal", () => {
  expect(labels("sap:task", false, { ...TASK, correlationId: null })).toEqual([]);
});

test("a rewind can be confirmed and aborted while it is prepared", () => {
  expect(labels("saop:rewind", false, { ...REWIND, state: "prepared" })).toEqual([
    "Confirm rewind",
    "Abort rewind",
  ]);
  expect(labels("saop:rewind", true, { ...REWIND, state: "applied" })).toEqual([]);
  expect(labels("saop:rewind", true, { ...REWIND, state: "lapsed" })).toEqual([]);
});

test("things of other kinds take no command", () => {
  expect(labels("apc:packet", false, {})).toEqual([]);
  expect(listActions({ kind: "sap:task", terminal: false, details: null })).toEqual([]);
});

test("a command that is sent twice is the same command", async () => {
  const bodies: unknown[] = [];
  const ack = { verdict: "accepted", rule: "accepted", position: "sap.signals/0/0" };
  vi.spyOn(api, "POST").mockImplementation(async (_path, ...[init]: unknown[]) => {
    bodies.push((init as { body: unknown }).body);
    return { data: ack, response: new Response() } as never;
  });
  const [cancel] = listActions({ kind: "sap:task", terminal: false, details: TASK });
  const send = cancel?.prepare();
  const input = { values: { note: "stuck" }, principal: "ada" };
  const answers = [await send?.(input), await send?.(input)];
  expect(bodies[0]).toEqual(bodies[1]);
  expect(bodies[0]).toMatchObject({
    kind: "cancel",
    note: "stuck",
    operator: { agentId: "ada", agentKind: "user" },
    ...TASK,
  });
  expect(answers.map((each) => each?.data)).toEqual([ack, ack]);
});

test("a refused signal says its rule and why", () => {
  const response = new Response(null, { status: 409 });
  const ack = { status: "UNPROCESSABLE", rule: "task_closed", reason: "the task has ended" };
  expect(readProblem(ack, response)).toMatchObject({
    code: "task_closed",
    detail: "the task has ended",
  });
});
