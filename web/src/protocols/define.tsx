import type { ComponentChildren } from "preact";
import { type Answer, api, queryOf } from "../api/client";
import { writeCommand } from "../parts/command";
import type { FilterOf } from "../parts/filters";
import { List, type ListPage, type ListSpec } from "../parts/list";
import { type Parameters, writeRoute } from "../state/url";
import type { Items, ListPath } from "./items";

/** A list of a protocol, whatever its rows are. */
export interface ProtocolList {
  tab: string;
  label: string;
  /** Write the path and the query of its route. */
  path: (query: Parameters) => string;
  /** Write the command that prints the same rows, if there is one. */
  command: (query: Parameters) => string | undefined;
  render: () => ComponentChildren;
}

/** Make a tab of a list that is written as data. */
export function defineList<T>(spec: ListSpec<T>): ProtocolList {
  const { tab, label, path: route, filters } = spec;
  const path = spec.writePath ?? ((query: Parameters) => writeRoute(route, query));
  const command = (query: Parameters) => writeCommand(spec.command, filters, query);
  return { tab, label, path, command, render: () => <List spec={spec} key={tab} /> };
}

type Get = (
  path: string,
  init: { params: { query: object }; signal?: AbortSignal },
) => Promise<Answer<unknown>>;

/** Make a tab of a route whose answer is `items` and `next`: the name of the tab is its last word. */
export function defineItems<P extends ListPath>(
  path: P,
  {
    fixed,
    ...spec
  }: Pick<ListSpec<Items<P>>, "empty" | "rowKey" | "columns"> & {
    filters: readonly FilterOf<P>[];
    command?: string | null;
    /** Parameters that the list sends unless the address has them. */
    fixed?: Readonly<Record<string, string>>;
  },
): ProtocolList {
  const [protocol = "", tab = ""] = path.split("/").slice(2);
  const get = api.GET as unknown as Get;
  return defineList({
    command: `headrace ${protocol} ${tab}`,
    ...spec,
    tab,
    label: tab.slice(0, 1).toUpperCase() + tab.slice(1),
    path,
    ...(fixed && { writePath: (query: Parameters) => writeRoute(path, { ...fixed, ...query }) }),
    load: (query, signal) =>
      get(path, {
        params: { query: queryOf<P>({ ...fixed, ...query }) },
        ...(signal && { signal }),
      }) as Promise<Answer<ListPage<Items<P>>>>,
  });
}
