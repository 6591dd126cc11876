import { signal } from "@preact/signals";
import { readStored, store } from "./storage";

export const isLocal = signal(readStored("clock") === "local");
/** The time of this browser, second by second. */
export const now = signal(Date.now());

export function switchClock(): void {
  isLocal.value = !isLocal.value;
  store("clock", isLocal.value ? "local" : "utc");
}

export function startClock(): void {
  window.setInterval(() => {
    if (!document.hidden) now.value = Date.now();
  }, 1000);
}

const two = (value: number): string => String(value).padStart(2, "0");

/** Write a time of day with milliseconds, and the date before it when it is not that of `today`. */
export function writeTime(at: number, local: boolean, today: number): string {
  const shifted = (time: number): Date =>
    new Date(local ? time - new Date(time).getTimezoneOffset() * 60_000 : time);
  const date = shifted(at);
  const time = `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`;
  const text = `${time}.${String(date.getUTCMilliseconds()).padStart(3, "0")}`;
  const day = date.toISOString().slice(0, 10);
  return day === shifted(today).toISOString().slice(0, 10) ? text : `${day} ${text}`;
}

const UNITS = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1000, "s"],
] as const;

/** Write a span in its largest unit, with one decimal below ten. */
export function writeSpan(ms: number): string {
  for (const [size, unit] of UNITS) {
    if (ms >= size) {
      const value = ms / size;
      return `${value < 10 ? Number(value.toFixed(1)) : Math.round(value)} ${unit}`;
    }
  }
  return `${Math.round(ms)} ms`;
}
