import type { Schemas } from "../api/client";
import { useUrl } from "../state/url";
import { PositionLink } from "./link";
import { plain } from "./text";
import { Time } from "./time";

type Thing = Schemas["Thing"];
type Step = Thing["steps"][number];

/** The index of the stop that an `as_of` names; the last one, now, without it. */
export function stopIndex(stops: readonly Step[], asOf: string | undefined): number {
  const index = stops.findIndex((each) => each.fact === asOf);
  return asOf === undefined || index === -1 ? stops.length : index;
}

/** The steps that have a position: several steps of one fact are one stop, at the last of them. */
export function listStops(steps: readonly Step[]): Step[] {
  return steps.filter((each, index) => each.fact !== null && each.fact !== steps[index + 1]?.fact);
}

interface Props {
  steps: readonly Step[];
  asOf: string | undefined;
  thing: Thing;
}

/** A slider with a stop for each step, and one for now. */
export function AsOf({ steps, asOf }: Props) {
  const { query, change } = useUrl();
  const isComparing = query["compare"] !== undefined;
  const stops = listStops(steps);
  if (stops.length < 2) return null;
  const at = stopIndex(stops, asOf);
  const stop = stops[at];
  const go = (index: number): void =>
    change({ as_of: stops[Math.max(0, index)]?.fact ?? undefined });
  return (
    <section class="as-of" aria-label="Time travel">
      <label for="as-of">As of</label>
      <button type="button" class="bare" aria-label="Step back" onClick={() => go(at - 1)}>
        ◂
      </button>
      <input
        id="as-of"
        type="range"
        min={0}
        max={stops.length}
        value={at}
        list="stops"
        aria-valuetext={stop ? plain(`step ${stop.n}: ${stop.event ?? ""}`) : "now"}
        onInput={(event) => go(Number(event.currentTarget.value))}
      />
      <datalist id="stops">
        {stops.map((each, index) => (
          <option key={each.fact} value={index} />
        ))}
        <option value={stops.length} />
      </datalist>
      <button
        type="button"
        class="bare"
        aria-label="Step on"
        disabled={stop === undefined}
        onClick={() => go(at + 1)}
      >
        ▸
      </button>
      <span class="muted">
        {stop ? (
          <>
            step {stop.n} of {steps.length}: {plain(stop.event ?? "–")}, <Time at={stop.at} />,{" "}
            <PositionLink position={stop.fact} />
          </>
        ) : (
          "now"
        )}
      </span>
      <button
        type="button"
        class="quiet"
        aria-pressed={isComparing}
        onClick={() => change({ compare: isComparing ? undefined : (stops[0]?.fact ?? undefined) })}
      >
        Compare
      </button>
      {stop && (
        <button type="button" class="quiet" onClick={() => change({ as_of: undefined })}>
          To now
        </button>
      )}
    </section>
  );
}
