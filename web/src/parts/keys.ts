/** What a key press asks of the page. */
export type KeyAction = "find" | "help" | { page: string };

/** The key after `g` for each page that has one. */
export const PAGE_KEYS: Readonly<Record<string, string>> = {
  o: "overview",
  l: "live",
  r: "verdicts",
  a: "agents",
  d: "dead-letters",
};
const LEADER = "g";

type Press = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey">;

/** Read a key press.  last: the key before it.  single: whether keys alone count. */
export function readKey(press: Press, last: string, single: boolean): KeyAction | undefined {
  const { key, ctrlKey, metaKey, altKey } = press;
  if (altKey) return undefined;
  if (ctrlKey || metaKey) return key.toLowerCase() === "k" ? "find" : undefined;
  if (!single) return undefined;
  const page = last === LEADER ? PAGE_KEYS[key] : undefined;
  if (page !== undefined) return { page };
  return key === "/" ? "find" : key === "?" ? "help" : undefined;
}

/** Whether keys are text there. */
export function takesText(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.closest("input, textarea, select, [role=application]") !== null
  );
}
