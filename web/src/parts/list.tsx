import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Answer } from "../api/client";
import { INTERVAL_MS } from "../api/poll";
import { useApi } from "../api/use_api";
import { announce } from "../state/announce";
import { type Parameters, routeParameters, useUrl, writeQuery } from "../state/url";
import { type Filter, FilterBar } from "./filters";
import { Empty, Loaded } from "./states";
import { type Column, Table } from "./table";

export interface ListPage<T> {
  items: T[];
  next: string | null;
}

/** A list as data: what loads it, what its columns and filters are. */
export interface ListSpec<T> {
  tab: string;
  label: string;
  /** The path of its route, and the command that prints the same, if there is one. */
  path: string;
  /** Write the path and the query of the request, where it is not `path` with the page's query. */
  writePath?: (query: Parameters) => string;
  command: string | null;
  /** What would be here, and how it comes here. */
  empty: ComponentChildren;
  load: (query: Record<string, string>, signal?: AbortSignal) => Promise<Answer<ListPage<T>>>;
  rowKey: (row: T) => string;
  filters: readonly Filter[];
  columns: readonly Column<T>[];
  marks?: (row: T) => Record<string, string | undefined>;
}

/** Put the newest page before the rows that were loaded earlier. */
export function mergeRows<T>(
  first: readonly T[],
  later: readonly T[],
  rowKey: (row: T) => string,
): readonly T[] {
  if (later.length === 0) return first;
  const keys = new Set(first.map(rowKey));
  return [...first, ...later.filter((row) => !keys.has(rowKey(row)))];
}

/** Load a list: its first page anew every two seconds, further ones as they are needed. */
function useList<T>(spec: ListSpec<T>, query: Record<string, string>) {
  const key = `${spec.path}${writeQuery(query)}`;
  const first = useApi(key, (signal) => spec.load(query, signal));
  const [later, setLater] = useState<{ key: string; rows: readonly T[]; next: string | null }>();
  const [failures, setFailures] = useState(0);
  const loading = useRef(false);
  const current = later?.key === key ? later : undefined;
  const next = current ? current.next : (first.data?.next ?? null);
  const items = first.data?.items;
  const onEnd = useCallback(async (): Promise<void> => {
    if (next === null || loading.current || items === undefined) return;
    loading.current = true;
    const page = await spec.load({ ...query, cursor: next }).catch(() => undefined);
    loading.current = false;
    if (page?.data) {
      const rows = mergeRows(current?.rows ?? items, page.data.items, spec.rowKey);
      setLater({ key, rows, next: page.data.next });
    } else {
      // Who waits at the end asks again, as `onEnd` is another function then.
      window.setTimeout(() => setFailures((each) => each + 1), INTERVAL_MS);
    }
  }, [next, items, current, key, spec, query, failures]);
  const rows = useMemo(
    () => mergeRows(items ?? [], current?.rows ?? [], spec.rowKey),
    [items, current, spec],
  );
  return { first, rows, next, onEnd };
}

/** A list with its filters, as the address says. */
export function List<T>({ spec }: { spec: ListSpec<T> }) {
  const url = useUrl();
  const search = writeQuery(url.query);
  const query = useMemo(() => routeParameters(url.query), [search]);
  const { first, rows, next, onEnd } = useList(spec, query);
  const text = (url.query["q"] ?? "").toLowerCase();
  const matching = useMemo(
    () =>
      text === "" ? rows : rows.filter((row) => JSON.stringify(row).toLowerCase().includes(text)),
    [rows, text],
  );
  const isShort = matching.length === 0 || (text !== "" && matching.length < 100);
  useEffect(() => {
    if (isShort) void onEnd();
  }, [isShort, onEnd]);
  const count = first.data === undefined ? undefined : matching.length;
  useEffect(() => {
    if (count !== undefined) announce(`${spec.label}: ${countRows(count)}`);
  }, [count, spec.label]);
  return (
    <>
      <FilterBar filters={spec.filters} problem={first.problem} />
      <Loaded query={first}>
        {() =>
          matching.length === 0 ? (
            <Empty>
              {describeEmpty(spec, rows.length > 0 || hasFilters(spec, query), next !== null)}
            </Empty>
          ) : (
            <>
              <Table
                label={spec.label}
                rows={matching}
                rowKey={spec.rowKey}
                columns={spec.columns}
                onEnd={onEnd}
                total={next === null ? matching.length + 1 : -1}
                {...(spec.marks && { marks: spec.marks })}
              />
              <p class="count muted">
                {countRows(matching.length)}
                {next !== null && ", more as you scroll"}
              </p>
            </>
          )
        }
      </Loaded>
    </>
  );
}

function countRows(count: number): string {
  return `${count.toLocaleString("en")} ${count === 1 ? "row" : "rows"}`;
}

/** What stands in the place of rows.  isFiltered: some may be left out.  isMore: more may follow. */
function describeEmpty<T>(spec: ListSpec<T>, isFiltered: boolean, isMore: boolean) {
  if (isMore) return "Nothing matches so far; looking further.";
  return isFiltered ? "Nothing matches." : spec.empty;
}

function hasFilters<T>(spec: ListSpec<T>, query: Record<string, string>): boolean {
  return spec.filters.some((each) => query[each.name] !== undefined);
}
