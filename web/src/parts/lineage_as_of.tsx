import type { Schemas } from "../api/client";
import { Time } from "./time";
import { TimeSlider } from "./time_slider";

type Edge = Schemas["headrace.core.LineageEdge"];

/** The times at which edges were written, each once, the earliest first. */
export function listTimes(edges: readonly Pick<Edge, "at">[]): string[] {
  return [...new Set(edges.map(({ at }) => at))].sort();
}

interface Props {
  /** All edges, also those after the point that is shown. */
  edges: readonly Edge[];
  asOf: string | undefined;
}

/** A slider with a stop for each time at which the lineage has grown. */
export function LineageAsOf({ edges, asOf }: Props) {
  const times = listTimes(edges);
  if (times.length < 2) return null;
  return (
    <TimeSlider
      stops={times.map((at) => ({ asOf: at, text: at }))}
      asOf={asOf}
      describe={(index) => (
        <>
          {index + 1} of {times.length}: <Time at={times[index]} />
        </>
      )}
    />
  );
}
