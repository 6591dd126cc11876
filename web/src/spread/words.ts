import { api } from "../api/client";
import { useApi } from "../api/use_api";

/** How many rows a tab asks for. */
export const MOST = 1000;

/** What the address filters by. */
export type Words = Record<"run_id" | "project_id" | "protocol_id", string | undefined>;

/** Take those of the filters that are set, and that a route knows. */
export function pick<N extends keyof Words>(
  words: Words,
  ...names: N[]
): Partial<Record<N, string>> {
  const entries = names.flatMap((name) => {
    const value = words[name];
    return value === undefined || value === "" ? [] : [[name, value] as const];
  });
  return Object.fromEntries(entries) as Partial<Record<N, string>>;
}

/** Follow the decisions of a kind. */
export function useDecisions(kind: "arbitration" | "decay", words: Words) {
  const query = { kind, limit: MOST, ...pick(words, "run_id", "project_id", "protocol_id") };
  return useApi(`/v1/apc/decisions ${JSON.stringify(query)}`, (signal) =>
    api.GET("/v1/apc/decisions", { params: { query }, signal }),
  );
}
