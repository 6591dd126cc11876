import { type Problem, readProblem, type Schemas, UNREACHABLE } from "./client";
import { MessageParser } from "./sse";

export type RtesRecord = Schemas["headrace.rtes.RtesRecord"];

export interface StreamFilters {
  session_id: readonly string[];
  type: readonly string[];
  task_id: readonly string[];
}

export interface StreamStart extends StreamFilters {
  /** Where an earlier stream ended; undefined: at the end of the log, or at its beginning. */
  cursor: string | undefined;
  from: "earliest" | "latest";
}

export interface StreamListener {
  onOpen: () => void;
  onCursor: (cursor: string) => void;
  onRecords: (records: RtesRecord[]) => void;
}

/** Write the address of a stream. */
export function streamAddress(start: StreamStart): string {
  const search = new URLSearchParams();
  for (const name of ["session_id", "type", "task_id"] as const) {
    for (const value of start[name]) search.append(name, value);
  }
  if (start.cursor === undefined) search.append("from", start.from);
  else search.append("cursor", start.cursor);
  return `/v1/rtes/stream?${search}`;
}

/** Follow recorded events until the stream ends.  Returns why, null if it only ended. */
export async function follow(
  start: StreamStart,
  listener: StreamListener,
  signal: AbortSignal,
): Promise<Problem | null> {
  try {
    const response = await fetch(streamAddress(start), { signal, credentials: "same-origin" });
    if (!response.ok || response.body === null) {
      return readProblem(await response.json().catch(() => undefined), response);
    }
    listener.onOpen();
    await readAll(response.body, listener);
    return null;
  } catch {
    return signal.aborted ? null : UNREACHABLE;
  }
}

/** How long records are taken in before the page may draw and answer clicks. */
const TURN_MS = 20;

const nextTurn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

/** Read a stream to its end.  What waits after a pause comes without one: turns keep tasks short. */
async function readAll(body: ReadableStream<Uint8Array>, listener: StreamListener): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const parser = new MessageParser();
  let began = performance.now();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    if (performance.now() - began > TURN_MS) {
      await nextTurn();
      began = performance.now();
    }
    const records: RtesRecord[] = [];
    let cursor: string | undefined;
    for (const message of parser.push(decoder.decode(value, { stream: true }))) {
      if (message.id !== undefined) cursor = message.id;
      if (message.event === "overflow") cursor = readCursor(message.data) ?? cursor;
      else if (message.data !== undefined) records.push(JSON.parse(message.data) as RtesRecord);
    }
    if (records.length > 0) listener.onRecords(records);
    if (cursor !== undefined) listener.onCursor(cursor);
  }
}

function readCursor(data: string | undefined): string | undefined {
  const value: unknown = data === undefined ? undefined : JSON.parse(data);
  if (typeof value !== "object" || value === null || !("cursor" in value)) return undefined;
  return typeof value.cursor === "string" ? value.cursor : undefined;
}
