import { useEffect, useRef, useState } from "preact/hooks";
import { noteAnswer } from "../state/ready";
import type { Answer } from "./client";
import { EMPTY, INTERVAL_MS, poll, type State } from "./poll";

export interface Query<T> extends State<T> {
  reload: () => void;
}

/** Ask a route for as long as the component stands.

key: names the request; another key asks anew.  null asks nothing.
live: ask again every two seconds, or every so many milliseconds; false: ask once.
begin: how to ask. */
export function useApi<T>(
  key: string | null,
  load: (signal: AbortSignal) => Promise<Answer<T>>,
  live: boolean | number = true,
  begin: typeof poll<T> = poll,
): Query<T> {
  const [state, setState] = useState<{ key: string | null; value: State<T> }>({
    key,
    value: EMPTY,
  });
  const [count, setCount] = useState(0);
  const interval = typeof live === "number" ? live : live ? INTERVAL_MS : null;
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    if (key === null) return undefined;
    return begin(
      (signal) => latest.current(signal),
      (value) => {
        setState({ key, value });
        noteAnswer();
      },
      interval,
    );
  }, [key, interval, count]);
  const value = state.key === key ? state.value : EMPTY;
  return { ...value, reload: () => setCount((each) => each + 1) };
}
