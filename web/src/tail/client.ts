import type { Problem } from "../api/client";
import { isPassing } from "../api/poll";
import { follow, type RtesRecord, type StreamFilters } from "../api/stream";
import { type Slot, takeOver, takeSlot } from "./slots";
import { Tail } from "./tail";

export type TailState = "live" | "paused" | "reconnecting";

export const DRAW_MS = 100;
const HIDDEN_MS = 30_000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;
const RATE_MS = 2000;

/** Follows a stream into a tail, over lost connections, and says at most ten times a second that
something is new. */
export class TailClient {
  readonly tail = new Tail();
  state: TailState = "reconnecting";
  problem: Problem | undefined;
  /** Whether other tabs take all the connections. */
  crowded = false;
  /** Events per second. */
  rate = 0;
  private cursor: string | undefined;
  private from: "earliest" | "latest";
  private abort: AbortController | undefined;
  private slot: Slot | null = null;
  private drawTimer: number | undefined;
  private hiddenTimer: number | undefined;
  private retryTimer: number | undefined;
  private wait = FIRST_WAIT_MS;
  private hiddenPause = false;
  private counted = { at: Date.now(), received: 0 };

  constructor(
    private readonly filters: StreamFilters,
    from: "earliest" | "latest",
    private readonly onChange: () => void,
  ) {
    this.from = from;
  }

  start(): void {
    document.addEventListener("visibilitychange", this.onVisibility);
    void this.open(takeSlot);
  }

  stop(): void {
    document.removeEventListener("visibilitychange", this.onVisibility);
    window.clearTimeout(this.hiddenTimer);
    window.clearTimeout(this.drawTimer);
    this.close();
  }

  pause(): void {
    this.close();
    this.set("paused");
  }

  /** Go on from where the stream was left. */
  resume(): void {
    void this.open(takeSlot);
  }

  takeOver(): void {
    void this.open(takeOver);
  }

  /** Go on at the end of the log. */
  toNow(): void {
    this.tail.jump();
    this.cursor = undefined;
    this.from = "latest";
    this.close();
    void this.open(takeSlot);
  }

  private async open(take: (onLost: () => void) => Promise<Slot | null>): Promise<void> {
    this.close();
    const abort = new AbortController();
    this.abort = abort;
    this.problem = undefined;
    this.set("reconnecting");
    const slot = await take(() => {
      if (this.abort === abort) this.pause();
    });
    if (abort.signal.aborted) {
      slot?.release();
      return;
    }
    this.slot = slot;
    this.crowded = slot === null;
    if (slot === null) this.set("paused");
    else await this.run(abort);
  }

  private async run(abort: AbortController): Promise<void> {
    const start = { ...this.filters, cursor: this.cursor, from: this.from };
    const problem = await follow(start, this.listener(), abort.signal);
    if (abort.signal.aborted) return;
    if (problem !== null && !isPassing(problem)) {
      this.problem = problem;
      this.close();
      this.set("paused");
      return;
    }
    this.set("reconnecting");
    this.retryTimer = window.setTimeout(() => void this.run(abort), this.wait);
    this.wait = Math.min(LONGEST_WAIT_MS, this.wait * 2);
  }

  private listener() {
    return {
      onOpen: () => {
        this.wait = FIRST_WAIT_MS;
        this.set("live");
      },
      onCursor: (cursor: string) => {
        this.cursor = cursor;
      },
      onRecords: (records: RtesRecord[]) => {
        for (const record of records) this.tail.add(record);
        this.draw();
      },
    };
  }

  private close(): void {
    this.abort?.abort();
    this.abort = undefined;
    this.slot?.release();
    this.slot = null;
    window.clearTimeout(this.retryTimer);
  }

  private set(state: TailState): void {
    this.state = state;
    this.draw();
  }

  private draw(): void {
    this.drawTimer ??= window.setTimeout(() => {
      this.drawTimer = undefined;
      this.measure();
      this.onChange();
    }, DRAW_MS);
  }

  private measure(): void {
    const elapsed = Date.now() - this.counted.at;
    if (elapsed < RATE_MS) return;
    this.rate = ((this.tail.received - this.counted.received) * 1000) / elapsed;
    this.counted = { at: Date.now(), received: this.tail.received };
  }

  /** Let go of the connection while the tab is hidden. */
  private readonly onVisibility = (): void => {
    window.clearTimeout(this.hiddenTimer);
    if (document.hidden) {
      this.hiddenTimer = window.setTimeout(() => {
        this.hiddenPause = this.state !== "paused";
        if (this.hiddenPause) this.pause();
      }, HIDDEN_MS);
    } else if (this.hiddenPause) {
      this.hiddenPause = false;
      this.resume();
    }
  };
}
