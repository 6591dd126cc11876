import type { Answer, Schemas } from "../api/client";
import type { FieldSpec } from "../parts/field";

/** What a command came to.  verdict: null while it is only on the log. */
export interface CommandResult {
  verdict: string | null;
  rule: string | null;
  position: string;
}

/** What a person filled in, by the names of the fields, and who it is. */
export interface ActionInput {
  values: Readonly<Record<string, string>>;
  principal: string;
}

/** A command on a thing that an operator may send. */
export interface Action {
  label: string;
  /** What will happen, for the person who is about to send it. */
  effect: string;
  /** What the command takes besides the thing. */
  fields: readonly FieldSpec[];
  /** Make the function that sends it.  Called as often as one likes, it sends one command: the
  service takes a repeated one for a duplicate. */
  prepare: () => (input: ActionInput) => Promise<Answer<CommandResult>>;
}

/** The commands that a thing of a kind takes in its present state. */
export type ListActions = (thing: Pick<Schemas["Thing"], "terminal" | "details">) => Action[];
