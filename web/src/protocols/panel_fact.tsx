import type { ComponentChildren } from "preact";
import type { Schemas } from "../api/client";
import { Text } from "../parts/text";

/** A fact below the header of a thing. */
export interface PanelFact {
  label: string;
  value: ComponentChildren;
  /** Whether it is known of now alone, so that a look back says that instead. */
  present?: boolean;
}

/** What a panel reads of a thing. */
export type PanelThing = Pick<Schemas["Thing"], "node" | "kind" | "details" | "verdicts">;

export type Details = NonNullable<Schemas["Thing"]["details"]>;

/** What a protocol says of a thing of one kind; null for what it has not. */
export type Describe = (details: Details, thing: PanelThing) => (PanelFact | null)[];

export const fact = (label: string, value: ComponentChildren): PanelFact => ({ label, value });

/** A fact of a route that has no `as_of`. */
export const presentFact = (label: string, value: ComponentChildren): PanelFact => ({
  label,
  value,
  present: true,
});

/** A text or number that agents sent; null where there is none. */
export function textFact(label: string, value: string | number | null | undefined) {
  return value === null || value === undefined || value === ""
    ? null
    : fact(label, <Text value={String(value)} code />);
}

interface CheckProps {
  name: string;
  holds: boolean | null;
  /** The words for what holds, what does not, and what was not checked. */
  words?: readonly [string, string, string?];
}

/** A check with its outcome, in a word and a sign. */
export function Check({ name, holds, words = ["passed", "failed"] }: CheckProps) {
  const sign = holds === null ? "–" : holds ? "✔" : "✖";
  const word = holds === null ? (words[2] ?? "not reached") : holds ? words[0] : words[1];
  return (
    <span class="check">
      <span aria-hidden="true">{sign}</span> <Text value={name} code /> {word}
    </span>
  );
}
