import type { RtesRecord } from "../api/stream";
import { dropOldest, OpenRows, type Row } from "./rows";

/** How many events a tail keeps, the newest ones. */
export const CAPACITY = 5000;

/** The events of a session that are not kept any more: how many, and the first and last sequence. */
export interface LetGo {
  session: string;
  count: number;
  first: number;
  last: number;
}

/** The newest events of a stream as rows, with counts of all. */
export class Tail {
  received = 0;
  letGo = 0;
  private rows: Row[] = [];
  private events: { row: Row; sequence: number }[] = [];
  private first = 0;
  private readonly gone = new Map<string, LetGo>();
  private readonly open = new OpenRows();
  private readonly last = new Map<string, number>();
  private readonly left = new Set<string>();

  constructor(private readonly capacity = CAPACITY) {}

  get keptCount(): number {
    return this.events.length - this.first;
  }

  /** Add an event, unless it was added before. */
  add(record: RtesRecord): void {
    const last = this.last.get(record.session_id) ?? Number.NEGATIVE_INFINITY;
    if (record.sequence <= last) return;
    this.noteGap(record, last);
    this.last.set(record.session_id, record.sequence);
    const { row, isNew } = this.open.place(record);
    if (isNew) this.rows.push(row);
    this.events.push({ row, sequence: record.sequence });
    this.received += 1;
    if (this.keptCount > this.capacity) this.release();
  }

  /** Leave out what comes between here and the end of the log. */
  jump(): void {
    for (const session of this.last.keys()) this.left.add(session);
  }

  /** Return the rows that hold events, oldest first. */
  listRows(): readonly Row[] {
    this.rows = this.rows.filter((row) => row.events > 0 || row.kind === "gap");
    return this.rows;
  }

  /** Return the largest sequence of a session; undefined before its first event. */
  lastSequence(session: string): number | undefined {
    return this.last.get(session);
  }

  /** List what was let go by session, the most first. */
  listLetGo(): LetGo[] {
    return [...this.gone.values()].sort((one, other) => other.count - one.count);
  }

  private release(): void {
    const event = this.events[this.first];
    this.first += 1;
    this.letGo += 1;
    if (event !== undefined) {
      const { row, sequence } = event;
      this.noteLetGo(row.session, sequence);
      dropOldest(row);
      if (row.events === 0) this.open.forget(row);
    }
    if (this.first > this.capacity) {
      this.events = this.events.slice(this.first);
      this.first = 0;
    }
  }

  private noteLetGo(session: string, sequence: number): void {
    const gone = this.gone.get(session);
    if (gone === undefined) {
      this.gone.set(session, { session, count: 1, first: sequence, last: sequence });
    } else {
      gone.count += 1;
      gone.last = sequence;
    }
  }

  private noteGap(record: RtesRecord, last: number): void {
    if (!this.left.delete(record.session_id) || record.sequence <= last + 1) return;
    this.rows.push({
      key: `${record.session_id}\n${last + 1}-`,
      kind: "gap",
      session: record.session_id,
      sequence: last + 1,
      last: record.sequence - 1,
      at: record.recorded_at,
      events: 0,
      flags: [],
    });
  }
}
