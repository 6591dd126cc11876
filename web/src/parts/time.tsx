import { isLocal, now, writeSpan, writeTime } from "../state/clock";

/** A time with milliseconds; its title is ISO 8601. */
export function Time({ at }: { at: string | null | undefined }) {
  if (!at) return <span class="none">–</span>;
  const time = Date.parse(at);
  if (Number.isNaN(time)) return <span>{at}</span>;
  return (
    <time class="time" dateTime={at} title={at}>
      {writeTime(time, isLocal.value, now.value)}
    </time>
  );
}

/** How long ago a time was. */
export function Age({ at }: { at: string }) {
  return <span title={at}>{writeSpan(Math.max(0, now.value - Date.parse(at)))}</span>;
}
