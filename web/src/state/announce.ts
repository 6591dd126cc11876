import { signal } from "@preact/signals";

/** Screen readers hear at most one message in this time. */
export const GAP_MS = 5000;

/** What the page's live region says. */
export const spoken = signal("");

/** Make a speaker that leaves a gap between messages: of those in the gap it says the last. */
export function makeSpeaker(say: (text: string) => void): (text: string) => void {
  let last = Number.NEGATIVE_INFINITY;
  let waiting: string | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const speak = (text: string): void => {
    last = Date.now();
    waiting = undefined;
    say(text);
  };
  return (text) => {
    const wait = last + GAP_MS - Date.now();
    if (wait <= 0 && timer === undefined) {
      speak(text);
      return;
    }
    waiting = text;
    timer ??= setTimeout(() => {
      timer = undefined;
      if (waiting !== undefined) speak(waiting);
    }, wait);
  };
}

/** Tell screen readers of a change that those who see the page see. */
export const announce = makeSpeaker((text) => {
  spoken.value = text;
});
