import type { Schemas } from "../api/client";
import type { Action, ListActions } from "./action";
import { listRewindActions } from "./saop_actions";
import { listSapActions } from "./sap_actions";

const ACTIONS: Readonly<Record<string, ListActions>> = {
  "sap:task": listSapActions,
  "saop:rewind": listRewindActions,
};

/** List the commands that an operator may send about a thing as it is now. */
export function listActions(
  thing: Pick<Schemas["Thing"], "kind" | "terminal" | "details">,
): Action[] {
  const list = ACTIONS[thing.kind];
  if (list === undefined || typeof thing.details !== "object" || thing.details === null) return [];
  return list(thing);
}
