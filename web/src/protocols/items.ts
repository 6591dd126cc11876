import type { paths } from "../api/schema";

/** A row of a list, as its route's answer describes it. */
export type Items<P extends keyof paths> = paths[P] extends {
  get: { responses: { 200: { content: { "application/json": { items: (infer Row)[] } } } } };
}
  ? Row
  : never;

/** The routes that answer a page of a list: `items` and `next`. */
export type ListPath = {
  [P in keyof paths]: [Items<P>] extends [never] ? never : P;
}[keyof paths];
