import { useLocation, useRoute } from "preact-iso";

export const ROOT = "/console";

export type Parameters = Readonly<Record<string, string | undefined>>;

/** Write a query with the members in order of name, without those that are empty. */
export function writeQuery(parameters: Parameters): string {
  const search = new URLSearchParams();
  for (const name of Object.keys(parameters).sort()) {
    const value = parameters[name];
    if (value !== undefined && value !== "") search.append(name, value);
  }
  const text = search.toString();
  return text === "" ? "" : `?${text}`;
}

/** Write the address of a route.  path: a parameter in braces takes its value from the query. */
export function writeRoute(path: string, query: Parameters): string {
  const rest = { ...query };
  const filled = path.replaceAll(/\{(\w+)\}/g, (braced, name: string) => {
    const value = rest[name];
    delete rest[name];
    return value === undefined ? braced : encodeURIComponent(value);
  });
  return filled + writeQuery(rest);
}

/** The address of a page of the console.  segments: each is encoded. */
export function address(segments: readonly string[], parameters: Parameters = {}): string {
  const path = segments.map((each) => `/${encodeURIComponent(each)}`).join("");
  return `${ROOT}${path === "" ? "/" : path}${writeQuery(parameters)}`;
}

export const thingAddress = (node: string, parameters?: Parameters): string =>
  address(["things", node], parameters);

/** The address of a record.  position: `topic/partition/offset`. */
export const recordAddress = (position: string): string =>
  address(["records", ...position.split("/")]);

/** Take the parameters of a page that its route has too: without those of the page itself. */
export function routeParameters(query: Parameters): Record<string, string> {
  const { tab: _tab, q: _q, compare: _compare, ...rest } = query;
  return Object.fromEntries(
    Object.entries(rest).filter((entry): entry is [string, string] => Boolean(entry[1])),
  );
}

export interface Url {
  path: string;
  query: Parameters;
  /** Change some parameters; undefined removes one.  The other ones stay. */
  change: (changes: Parameters, replace?: boolean) => void;
  go: (href: string) => void;
}

/** The address of the page that asks.  While the next page loads, the one that is still shown keeps
its own address, so that it asks nothing with the words of the next. */
export function useUrl(): Url {
  const location = useLocation();
  const page: Partial<Pick<Url, "path" | "query">> = useRoute();
  const { path = location.path, query = location.query } = page;
  const { route } = location;
  const change = (changes: Parameters, replace = true): void =>
    route(path + writeQuery({ ...query, ...changes }), replace);
  return { path, query, change, go: (href) => route(href) };
}

/** Split a position into the parts of its route. */
export function splitPosition(position: string): {
  topic: string;
  partition: string;
  offset: string;
} {
  const [topic = "", partition = "", offset = ""] = position.split("/");
  return { topic, partition, offset };
}
