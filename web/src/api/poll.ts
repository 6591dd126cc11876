import { type Answer, type Problem, readProblem, UNREACHABLE } from "./client";

export const INTERVAL_MS = 2000;

export interface State<T> {
  data: T | undefined;
  problem: Problem | undefined;
  /** When the data was last confirmed, in epoch milliseconds. */
  at: number | undefined;
}

export const EMPTY: State<never> = { data: undefined, problem: undefined, at: undefined };

/** A problem that asking again may solve: the last answer stays on the page. */
export function isPassing(problem: Problem): boolean {
  return problem.status === 0 || problem.status === 429 || problem.status >= 500;
}

/** Combine what is there with an answer.  An unchanged entity tag leaves the same data object. */
export function combine<T>(
  state: State<T>,
  answer: Answer<T>,
  tag: string | null,
  now: number,
): State<T> {
  if (answer.response.ok && answer.data !== undefined) {
    const unchanged = state.data !== undefined && tag !== null;
    const data =
      unchanged && tag === answer.response.headers.get("etag") ? state.data : answer.data;
    return { data, problem: undefined, at: now };
  }
  return withProblem(state, readProblem(answer.error, answer.response));
}

function withProblem<T>(state: State<T>, problem: Problem): State<T> {
  return isPassing(problem) ? { ...state, problem } : { data: undefined, problem, at: undefined };
}

/** Ask at once and then every two seconds while the tab is visible.  Returns how to stop.

The browser's cache sends `If-None-Match` by itself, since answers are `no-cache` with an `ETag`. */
export function poll<T>(
  load: (signal: AbortSignal) => Promise<Answer<T>>,
  onState: (state: State<T>) => void,
  interval: number | null,
): () => void {
  const abort = new AbortController();
  let state: State<T> = EMPTY;
  let tag: string | null = null;
  let timer: number | undefined;
  const ask = async (): Promise<void> => {
    window.clearTimeout(timer);
    try {
      const answer = await load(abort.signal);
      state = combine(state, answer, tag, Date.now());
      tag = answer.response.headers.get("etag");
    } catch {
      state = withProblem(state, UNREACHABLE);
    }
    if (abort.signal.aborted) return;
    onState(state);
    const passing = state.problem !== undefined && isPassing(state.problem);
    const next = interval ?? (passing ? INTERVAL_MS : null);
    if (next !== null && !document.hidden) timer = window.setTimeout(ask, next);
  };
  const onVisible = (): void => {
    if (document.hidden) window.clearTimeout(timer);
    else void ask();
  };
  if (interval !== null) document.addEventListener("visibilitychange", onVisible);
  void ask();
  return () => {
    abort.abort();
    window.clearTimeout(timer);
    document.removeEventListener("visibilitychange", onVisible);
  };
}
