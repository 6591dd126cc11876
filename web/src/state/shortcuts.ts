import { signal } from "@preact/signals";
import { readStored, store } from "./storage";

/** Whether keys without a modifier are shortcuts; people who dictate switch them off. */
export const hasShortcuts = signal(readStored("shortcuts") !== "off");

export function switchShortcuts(): void {
  hasShortcuts.value = !hasShortcuts.value;
  store("shortcuts", hasShortcuts.value ? "on" : "off");
}
