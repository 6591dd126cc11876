/** The points of a line through counts, in a box of 100 by 24. */
export function sparkPoints(counts: readonly number[]): string {
  const most = Math.max(1, ...counts);
  const step = 100 / Math.max(1, counts.length - 1);
  return counts
    .map((count, index) => `${(index * step).toFixed(2)},${(23 - (22 * count) / most).toFixed(2)}`)
    .join(" ");
}

/** A small line chart; the figure above it says the sum. */
export function Spark({ counts }: { counts: readonly number[] }) {
  const points = sparkPoints(counts);
  return (
    <svg class="spark" viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">
      <polygon points={`0,24 ${points} 100,24`} />
      <polyline points={points} />
    </svg>
  );
}
