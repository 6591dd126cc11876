import { useRef } from "preact/hooks";
import type { Query } from "./use_api";

/** Show the last data of a family of requests until the next request has its own.

So what has the focus, such as a slider, stays in the document while a page loads. */
export function useLatestData<T>(query: Query<T>, family: string): Query<T> {
  const last = useRef<{ family: string; data: T }>(undefined);
  if (query.data !== undefined) last.current = { family, data: query.data };
  const isLoading = query.data === undefined && query.problem === undefined;
  return isLoading && last.current?.family === family
    ? { ...query, data: last.current.data }
    : query;
}
