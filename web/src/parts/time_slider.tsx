import type { ComponentChildren } from "preact";
import { useUrl } from "../state/url";
import { plain, Text } from "./text";

/** A point of the past that a slider stops at. */
export interface Stop {
  /** The value of the parameter `as_of`. */
  asOf: string;
  /** What a screen reader says. */
  text: string;
}

/** Up to so many stops are marked below the slider. */
const MOST_MARKS = 60;

/** The index of the stop that an `as_of` names; the last one, now, without it. */
export function stopIndex(stops: readonly Stop[], asOf: string | undefined): number {
  const index = stops.findIndex((each) => each.asOf === asOf);
  return asOf === undefined || index === -1 ? stops.length : index;
}

interface Props {
  stops: readonly Stop[];
  asOf: string | undefined;
  /** What is said of the stop beside the slider. */
  describe: (index: number) => ComponentChildren;
  children?: ComponentChildren;
}

/** A slider with a stop for each point, and one for now.  It sets `as_of` in the address. */
export function TimeSlider({ stops, asOf, describe, children }: Props) {
  const { change } = useUrl();
  const at = stopIndex(stops, asOf);
  const stop = stops[at];
  const go = (index: number): void => change({ as_of: stops[Math.max(0, index)]?.asOf });
  return (
    <section class="as-of" aria-label="Time travel">
      <label for="as-of">As of</label>
      <button
        type="button"
        class="bare"
        aria-label="Step back"
        disabled={at === 0}
        onClick={() => go(at - 1)}
      >
        ◂
      </button>
      <input
        id="as-of"
        type="range"
        min={0}
        max={stops.length}
        value={at}
        list={stops.length <= MOST_MARKS ? "stops" : undefined}
        aria-valuetext={stop ? plain(stop.text) : "now"}
        onInput={(event) => go(Number(event.currentTarget.value))}
      />
      {stops.length <= MOST_MARKS && (
        <datalist id="stops">
          {stops.map((each, index) => (
            <option key={each.asOf} value={index} />
          ))}
          <option value={stops.length} />
        </datalist>
      )}
      <button
        type="button"
        class="bare"
        aria-label="Step on"
        disabled={at === stops.length}
        onClick={() => go(at + 1)}
      >
        ▸
      </button>
      <span class="muted">
        {stop ? describe(at) : asOf === undefined ? "now" : <Text value={asOf} code />}
      </span>
      {children}
      {asOf !== undefined && <ToNow />}
    </section>
  );
}

/** A point of the past without a slider, and the way back. */
export function TimePoint({ asOf }: { asOf: string }) {
  return (
    <section class="as-of" aria-label="Time travel">
      <span>As of</span> <Text value={asOf} code />
      <ToNow />
    </section>
  );
}

function ToNow() {
  const { change } = useUrl();
  return (
    <button type="button" class="quiet" onClick={() => change({ as_of: undefined })}>
      To now
    </button>
  );
}
