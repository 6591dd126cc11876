import { signal } from "@preact/signals";
import { readStored, store } from "./storage";
import { ROOT } from "./url";

export interface SavedView {
  name: string;
  path: string;
}

function isView(value: unknown): value is SavedView {
  return (
    typeof value === "object" &&
    value !== null &&
    "name" in value &&
    "path" in value &&
    typeof value.name === "string" &&
    typeof value.path === "string" &&
    isOwnPath(value.path)
  );
}

/** Whether an address is one of the console on this gateway. */
export function isOwnPath(path: string): boolean {
  if (!path.startsWith(`${ROOT}/`)) return false;
  const url = new URL(path, "http://gateway.invalid");
  return url.host === "gateway.invalid" && url.pathname.startsWith(`${ROOT}/`);
}

/** Read views from JSON.  Those that are none are left out; null if it is no list. */
export function parseViews(text: string): SavedView[] | null {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value.filter(isView) : null;
  } catch {
    return null;
  }
}

/** Add a view; one of the same name is replaced. */
export function withView(views: readonly SavedView[], view: SavedView): SavedView[] {
  return [...views.filter((each) => each.name !== view.name), view];
}

export const savedViews = signal<SavedView[]>(parseViews(readStored("views") ?? "[]") ?? []);

export function saveViews(views: SavedView[]): void {
  savedViews.value = views;
  store("views", JSON.stringify(views));
}
