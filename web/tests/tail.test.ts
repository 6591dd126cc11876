import { expect, test } from "vitest";
import { MessageParser } from "../src/api/sse";
import { type RtesRecord, streamAddress } from "../src/api/stream";
import { letGoAddress } from "../src/parts/let_go";
import { Tail } from "../src/tail/tail";

function record(sequence: number, payload: RtesRecord["payload"], session = "s"): RtesRecord {
  return {
    event_id: `${session}-${sequence}`,
    session_id: session,
    payload,
    origin: null,
    sequence,
    recorded_at: "2026-01-01T00:00:00.000Z",
    rule: "recorded",
    task_id: null,
    profile: null,
    flags: [],
    masked_arguments: 0,
    dropped_keys: 0,
    rewind_id: null,
    control_id: null,
    cause: `rtes.raw/0/${sequence}`,
  };
}

const timestamp = "2026-01-01T00:00:00Z";
const pulse = (line: string): RtesRecord["payload"] => ({
  type: "SANDBOX_PULSE",
  line,
  masked: false,
  timestamp,
});
const thought = (chunk: string, is_final = false): RtesRecord["payload"] => ({
  type: "THOUGHT_STREAM",
  agent_id: "architect",
  turn_index: 3,
  chunk,
  is_final,
});

test("chunks of a thought join into one row", () => {
  const tail = new Tail();
  tail.add(record(1, thought("I should ")));
  tail.add(record(2, pulse("$ pytest")));
  tail.add(record(3, thought("read.", true)));
  tail.add(record(4, thought("Another one.")));
  const rows = tail.listRows();
  expect(rows.map((row) => [row.kind, row.events])).toEqual([
    ["thought", 2],
    ["pulse", 1],
    ["thought", 1],
  ]);
  expect(rows[0]).toMatchObject({ chunks: ["I should ", "read."], final: true });
});

test("an escalation is a row, and ends the run of pulses before it", () => {
  const tail = new Tail();
  tail.add(record(1, pulse("$ pytest")));
  tail.add(
    record(2, {
      type: "ESCALATION_RAISED",
      task_id: "t",
      agent_id: "developer",
      turn_index: 4,
      detector: "repetition",
      rules: ["observation_repeated"],
      outcome: "strategy_pivot",
      figures: { run_length: 3 },
      timestamp,
    }),
  );
  tail.add(record(3, pulse("$ pytest")));
  const rows = tail.listRows();
  expect(rows.map((row) => row.kind)).toEqual(["pulse", "escalation", "pulse"]);
  expect(rows[1]).toMatchObject({ agent: "developer", turn: 4, outcome: "strategy_pivot" });
});

test("a completion fills the row of its invocation", () => {
  const tail = new Tail();
  const call = { call_id: "c", tool: "shell", timestamp };
  tail.add(record(1, { ...call, type: "TOOL_LIFECYCLE_INVOKED", arguments: { cmd: "ls" } }));
  tail.add(
    record(2, { ...call, type: "TOOL_LIFECYCLE_COMPLETED", status: "failure", duration_ms: 2400 }),
  );
  tail.add(
    record(3, { ...call, type: "TOOL_LIFECYCLE_COMPLETED", status: "success", duration_ms: 1 }),
  );
  expect(tail.listRows()).toMatchObject([
    { call: "c", arguments: '{"cmd":"ls"}', status: "failure", duration: 2400, events: 2 },
    { arguments: undefined, status: "success" },
  ]);
});

test("each event counts once, and what is let go is counted", () => {
  const tail = new Tail(100);
  for (let sequence = 1; sequence <= 1050; sequence += 1) tail.add(record(sequence, pulse("x")));
  for (let sequence = 1000; sequence <= 1060; sequence += 1) tail.add(record(sequence, pulse("x")));
  expect([tail.received, tail.keptCount, tail.letGo]).toEqual([1060, 100, 960]);
  const [row, ...rest] = tail.listRows();
  expect(rest).toEqual([]);
  expect(row).toMatchObject({ kind: "pulse", events: 100 });
});

test("a row whose events are let go is gone, and later ones open another", () => {
  const tail = new Tail(2);
  tail.add(record(1, thought("a")));
  for (const sequence of [2, 3]) {
    const to_state = String(sequence);
    tail.add(
      record(sequence, {
        type: "TASK_TRANSITION",
        task_id: "t",
        from_state: "a",
        to_state,
        timestamp,
      }),
    );
  }
  tail.add(record(4, thought("b")));
  expect(tail.listRows().map((row) => row.sequence)).toEqual([3, 4]);
});

test("a jump to the end leaves a row for what is not shown", () => {
  const tail = new Tail();
  tail.add(record(1, pulse("a")));
  tail.jump();
  tail.add(record(9, pulse("b")));
  tail.add(record(12, pulse("c")));
  expect(tail.listRows().filter((row) => row.kind === "gap")).toMatchObject([
    { sequence: 2, last: 8 },
  ]);
  expect(tail.received).toBe(3);
});

test("what is let go is listed by session, with a list that begins with it", () => {
  const tail = new Tail(2);
  for (const [session, sequence] of [
    ["a", 7],
    ["b", 1],
    ["a", 8],
    ["a", 9],
    ["b", 2],
  ] as const) {
    tail.add(record(sequence, pulse("x"), session));
  }
  const [first, second] = tail.listLetGo();
  expect(first).toEqual({ session: "a", count: 2, first: 7, last: 8 });
  expect(second).toEqual({ session: "b", count: 1, first: 1, last: 1 });
  expect(tail.letGo).toBe(3);
  const filters = { type: "SANDBOX_PULSE", from: "earliest" };
  expect(first && letGoAddress(first, filters)).toBe(
    "/console/saop?after_sequence=6&session_id=a&tab=events&type=SANDBOX_PULSE",
  );
  expect(second && letGoAddress(second, {})).toBe("/console/saop?session_id=b&tab=events");
});

test("messages are parsed in whatever pieces they come", () => {
  const text =
    'id: 0:1\n\nid: 0:2\ndata: {"a":1}\n\n: heartbeat\n\nevent: overflow\r\ndata: x\r\n\r\n';
  const expected = [
    { id: "0:1", event: "message", data: undefined },
    { id: "0:2", event: "message", data: '{"a":1}' },
    { id: undefined, event: "overflow", data: "x" },
  ];
  for (const size of [1, 7, text.length]) {
    const parser = new MessageParser();
    const pieces = text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
    expect(pieces.flatMap((piece) => parser.push(piece))).toEqual(expected);
  }
});

test("a stream goes on with its cursor", () => {
  const filters = { session_id: ["s 1"], type: [], task_id: ["t"], from: "latest" as const };
  expect(streamAddress({ ...filters, cursor: undefined })).toBe(
    "/v1/rtes/stream?session_id=s+1&task_id=t&from=latest",
  );
  expect(streamAddress({ ...filters, cursor: "s%201:4" })).toContain("&cursor=s%25201%3A4");
});
