import type { RtesRecord } from "../api/stream";

export const EVENT_TYPES = [
  "THOUGHT_STREAM",
  "TOOL_LIFECYCLE_INVOKED",
  "TOOL_LIFECYCLE_COMPLETED",
  "TASK_TRANSITION",
  "SANDBOX_PULSE",
  "ESCALATION_RAISED",
] as const;

interface Base {
  key: string;
  session: string;
  sequence: number;
  at: string;
  /** How many events the row stands for; a row without any is gone. */
  events: number;
  flags: readonly string[];
}

/** The chunks of one turn of an agent, joined as they come. */
export interface ThoughtRow extends Base {
  kind: "thought";
  agent: string;
  turn: number;
  chunks: string[];
  final: boolean;
}

/** A tool call: its invocation, its completion, or both. */
export interface CallRow extends Base {
  kind: "call";
  call: string;
  tool: string;
  arguments: string | undefined;
  masked: number;
  status: string | undefined;
  duration: number | undefined;
}

export interface TransitionRow extends Base {
  kind: "transition";
  task: string;
  from: string;
  to: string;
  hash: string | undefined;
}

/** What a detector escalated of an agent, or of a task as a whole. */
export interface EscalationRow extends Base {
  kind: "escalation";
  task: string;
  agent: string | undefined;
  turn: number | undefined;
  rules: readonly string[];
  outcome: string;
}

/** Lines of a sandbox that follow each other. */
export interface PulseRow extends Base {
  kind: "pulse";
  lines: string[];
  masked: boolean;
}

/** Events that are left out, because somebody went on to the end of the log. */
export interface GapRow extends Base {
  kind: "gap";
  last: number;
}

export type Row = ThoughtRow | CallRow | TransitionRow | PulseRow | EscalationRow | GapRow;

const toNumber = (value: number | string): number => Number(value);

const callKey = (session: string, call: string): string => `${session}\n${call}`;

const thoughtKey = (session: string, agent: string, turn: number): string =>
  `${session}\n${agent}\n${turn}`;

function remove<T>(rows: Map<string, T>, key: string, row: T): void {
  if (rows.get(key) === row) rows.delete(key);
}

function base(record: RtesRecord): Base {
  return {
    key: `${record.session_id}\n${record.sequence}`,
    session: record.session_id,
    sequence: record.sequence,
    at: record.recorded_at,
    events: 1,
    flags: record.flags,
  };
}

/** The rows that later events may still join. */
export class OpenRows {
  private readonly thoughts = new Map<string, ThoughtRow>();
  private readonly calls = new Map<string, CallRow>();
  private readonly pulses = new Map<string, PulseRow>();

  /** Return the row of an event, and whether it is a new one. */
  place(record: RtesRecord): { row: Row; isNew: boolean } {
    const joined = this.join(record);
    if (record.payload.type !== "SANDBOX_PULSE") this.pulses.delete(record.session_id);
    if (joined === undefined) return { row: this.open(record), isNew: true };
    joined.events += 1;
    joined.flags = [...new Set([...joined.flags, ...record.flags])];
    return { row: joined, isNew: false };
  }

  /** Forget a row that holds no event any more. */
  forget(row: Row): void {
    if (row.kind === "thought") {
      remove(this.thoughts, thoughtKey(row.session, row.agent, row.turn), row);
    } else if (row.kind === "call") remove(this.calls, callKey(row.session, row.call), row);
    else if (row.kind === "pulse") remove(this.pulses, row.session, row);
  }

  private join(record: RtesRecord): Row | undefined {
    const payload = record.payload;
    if (payload.type === "THOUGHT_STREAM") {
      const { agent_id: agent, turn_index: turn } = payload;
      const row = this.thoughts.get(thoughtKey(record.session_id, agent, turn));
      if (row === undefined || row.final) return undefined;
      row.chunks.push(payload.chunk);
      row.final = payload.is_final;
      return row;
    }
    if (payload.type === "TOOL_LIFECYCLE_COMPLETED") {
      const row = this.calls.get(callKey(record.session_id, payload.call_id));
      if (row === undefined || row.status !== undefined) return undefined;
      row.status = payload.status;
      row.duration = toNumber(payload.duration_ms);
      return row;
    }
    if (payload.type === "SANDBOX_PULSE") {
      const row = this.pulses.get(record.session_id);
      if (row === undefined || row.masked !== payload.masked) return undefined;
      row.lines.push(payload.line);
      return row;
    }
    return undefined;
  }

  private open(record: RtesRecord): Row {
    const payload = record.payload;
    switch (payload.type) {
      case "THOUGHT_STREAM": {
        const { agent_id: agent, turn_index: turn, chunk, is_final: final } = payload;
        const row: Row = { ...base(record), kind: "thought", agent, turn, chunks: [chunk], final };
        this.thoughts.set(thoughtKey(record.session_id, agent, turn), row);
        return row;
      }
      case "TOOL_LIFECYCLE_INVOKED":
      case "TOOL_LIFECYCLE_COMPLETED": {
        const row = openCall(record, payload);
        this.calls.set(callKey(record.session_id, payload.call_id), row);
        return row;
      }
      case "TASK_TRANSITION": {
        const { task_id: task, from_state: from, to_state: to, git_hash: hash } = payload;
        return { ...base(record), kind: "transition", task, from, to, hash };
      }
      case "SANDBOX_PULSE": {
        const { line, masked } = payload;
        const row: Row = { ...base(record), kind: "pulse", lines: [line], masked };
        this.pulses.set(record.session_id, row);
        return row;
      }
      case "ESCALATION_RAISED": {
        const { task_id: task, agent_id: agent, turn_index: turn, rules, outcome } = payload;
        return { ...base(record), kind: "escalation", task, agent, turn, rules, outcome };
      }
    }
  }
}

type CallPayload = Extract<RtesRecord["payload"], { call_id: string }>;

function openCall(record: RtesRecord, payload: CallPayload): CallRow {
  const isInvoked = payload.type === "TOOL_LIFECYCLE_INVOKED";
  return {
    ...base(record),
    kind: "call",
    call: payload.call_id,
    tool: payload.tool,
    arguments: isInvoked ? JSON.stringify(payload.arguments) : undefined,
    masked: record.masked_arguments,
    status: isInvoked ? undefined : payload.status,
    duration: isInvoked ? undefined : toNumber(payload.duration_ms),
  };
}

/** Take the oldest event out of a row. */
export function dropOldest(row: Row): void {
  row.events -= 1;
  if (row.kind === "thought") row.chunks.shift();
  else if (row.kind === "pulse") row.lines.shift();
}

/** Return the text of a row, for a filter. */
export function textOf(row: Row): string {
  switch (row.kind) {
    case "thought":
      return `${row.agent} ${row.chunks.join("")}`;
    case "call":
      return `${row.tool} ${row.call} ${row.arguments ?? ""} ${row.status ?? ""}`;
    case "transition":
      return `${row.task} ${row.from} ${row.to} ${row.hash ?? ""}`;
    case "pulse":
      return row.lines.join("\n");
    case "escalation":
      return `${row.task} ${row.agent ?? ""} ${row.rules.join(" ")} ${row.outcome}`;
    case "gap":
      return "";
  }
}
