import type { Answer } from "./client";
import { EMPTY, INTERVAL_MS, poll, type State } from "./poll";

type Listener<T> = (state: State<T>) => void;

/** One poll of a route for all parts of a page that show its answer. */
export class SharedPoll<T> {
  private readonly listeners = new Set<Listener<T>>();
  private state: State<T> = EMPTY;
  private stop: () => void = () => {};

  /** Hear of each answer, and of the last one at once.  Returns how to stop. */
  join(load: (signal: AbortSignal) => Promise<Answer<T>>, onState: Listener<T>): () => void {
    this.listeners.add(onState);
    if (this.listeners.size === 1) this.start(load);
    else if (this.state !== EMPTY) onState(this.state);
    return () => {
      this.listeners.delete(onState);
      if (this.listeners.size === 0) this.stop();
    };
  }

  private start(load: (signal: AbortSignal) => Promise<Answer<T>>): void {
    this.state = EMPTY;
    const tell = (state: State<T>): void => {
      this.state = state;
      for (const listener of this.listeners) listener(state);
    };
    this.stop = poll(load, tell, INTERVAL_MS);
  }
}
