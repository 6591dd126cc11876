import createClient from "openapi-fetch";
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];

/** Calls of the public API, checked against its OpenAPI document. */
export const api = createClient<paths>({ baseUrl: "/", credentials: "same-origin" });

/** What an answer that is no success says: the members of a problem document. */
export interface Problem {
  status: number;
  code: string;
  detail: string;
  /** The parameter or member that is meant. */
  path: string | undefined;
}

export interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** Read the code and the detail of an error, whatever sent it. */
export function readProblem(error: unknown, response: Response): Problem {
  const members = isRecord(error) ? error : {};
  const code = members["rule"] ?? members["code"];
  const names = ["detail", "message", "reason", "title"];
  const detail = names.map((each) => members[each]).find((each) => typeof each === "string");
  return {
    status: response.status,
    code: typeof code === "string" ? code : `http_${response.status}`,
    detail: typeof detail === "string" ? detail : response.statusText || "no detail",
    path: typeof members["path"] === "string" ? members["path"] : undefined,
  };
}

export const UNREACHABLE: Problem = {
  status: 0,
  code: "gateway_unreachable",
  detail: "The gateway does not answer. The page asks again by itself.",
  path: undefined,
};

/** The query that a route takes. */
export type QueryOf<P extends keyof paths> = paths[P] extends {
  get: { parameters: { query?: infer Q } };
}
  ? NonNullable<Q>
  : never;

/** Pass the words of an address on as they are: the API refuses a wrong one, with a code that the
page shows. */
export function queryOf<P extends keyof paths>(
  words: Readonly<Record<string, string>>,
): QueryOf<P> {
  return words as unknown as QueryOf<P>;
}

/** Turn the data of an answer into another form. */
export function mapAnswer<T, U>(
  { data, error, response }: Answer<T>,
  turn: (data: T) => U,
): Answer<U> {
  return { error, response, ...(data !== undefined && { data: turn(data) }) };
}
