const HIGHEST = 40;
const FOLDED_HEIGHT = 26;
const FOLD_MS = 3_600_000;
const WIDEST = 160;

/** The milliseconds between each time and the one before it; 0 for the first. */
export function listGaps(times: readonly number[]): number[] {
  return times.map((time, index) => {
    const before = times[index - 1];
    return before === undefined ? 0 : Math.max(0, time - before);
  });
}

/** The height of a gap between two steps, in pixels: by the logarithm of its length, so that the
axis fits whatever it spans.  A gap of an hour or more is folded. */
export function gapHeight(ms: number): { height: number; isFolded: boolean } {
  if (ms >= FOLD_MS) return { height: FOLDED_HEIGHT, isFolded: true };
  if (ms <= 0) return { height: 0, isFolded: false };
  const height = (HIGHEST * Math.log10(1 + ms)) / Math.log10(1 + FOLD_MS);
  return { height: Math.round(height), isFolded: false };
}

/** The width of the bar of a gap, in pixels: its share of the longest one. */
export function barWidth(ms: number, longest: number): number {
  return longest <= 0 ? 0 : Math.max(2, Math.round((WIDEST * ms) / longest));
}
