import { effect, signal } from "@preact/signals";
import { readStored, store } from "./storage";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const stored = readStored("theme");
export const theme = signal<Theme>(THEMES.find((each) => each === stored) ?? "system");

export function nextTheme(current: Theme): Theme {
  return THEMES[(THEMES.indexOf(current) + 1) % THEMES.length] ?? "system";
}

/** Set the theme of the document, now and at each change. */
export function applyTheme(): void {
  effect(() => {
    if (theme.value === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme.value;
    store("theme", theme.value);
  });
}
