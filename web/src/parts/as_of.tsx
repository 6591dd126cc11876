import type { Schemas } from "../api/client";
import { KINDS_WITH_AS_OF } from "../protocols/kinds";
import { useUrl } from "../state/url";
import { PositionLink } from "./link";
import { plain } from "./text";
import { Time } from "./time";
import { TimePoint, TimeSlider } from "./time_slider";

type Step = Schemas["Thing"]["steps"][number];

/** The steps that have a position: several steps of one fact are one stop, at the last of them. */
export function listStops(steps: readonly Step[]): Step[] {
  return steps.filter((each, index) => each.fact !== null && each.fact !== steps[index + 1]?.fact);
}

interface Props {
  kind: string;
  steps: readonly Step[];
  asOf: string | undefined;
}

/** A slider with a stop for each step of a thing, and what compares two of them. */
export function AsOf({ kind, steps, asOf }: Props) {
  const { query, change } = useUrl();
  const isComparing = query["compare"] !== undefined;
  const stops = listStops(steps);
  if (stops.length < 2) return asOf === undefined ? null : <TimePoint asOf={asOf} />;
  if (!KINDS_WITH_AS_OF.has(kind)) {
    if (asOf !== undefined) return <TimePoint asOf={asOf} />;
    return <p class="muted">Things of this kind are shown only as they are now.</p>;
  }
  const describe = (index: number) => {
    const stop = stops[index];
    if (!stop) return null;
    return (
      <>
        step {stop.n} of {steps.length}: {plain(stop.event ?? "–")}, <Time at={stop.at} />,{" "}
        <PositionLink position={stop.fact} />
      </>
    );
  };
  return (
    <TimeSlider
      stops={stops.map((each) => ({
        asOf: each.fact ?? "",
        text: `step ${each.n}: ${each.event ?? ""}`,
      }))}
      asOf={asOf}
      describe={describe}
    >
      <button
        type="button"
        class="quiet"
        aria-pressed={isComparing}
        onClick={() => change({ compare: isComparing ? undefined : (stops[0]?.fact ?? undefined) })}
      >
        Compare
      </button>
    </TimeSlider>
  );
}
