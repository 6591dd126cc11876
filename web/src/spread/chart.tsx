import { plain } from "../parts/text";
import type { Series, Turn } from "./figures";

const WIDTH = 960;
const HEIGHT = 280;
const LEFT = 40;
const RIGHT = 12;
const TOP = 12;
const BOTTOM = 28;
/** How many lines can be told apart. */
export const MOST_LINES = 6;

interface Props {
  label: string;
  series: readonly Series[];
  turns: readonly Turn[];
  threshold: number | undefined;
}

/** Effectiveness from 0 to 1 by generation.  A table stands beside it, so readers skip it. */
export function Chart({ label, series, turns, threshold }: Props) {
  const generations = series.flatMap(({ points }) => points.map(({ generation }) => generation));
  const from = Math.min(...generations);
  const to = Math.max(...generations, from + 1);
  const x = (generation: number): number =>
    LEFT + ((generation - from) / (to - from)) * (WIDTH - LEFT - RIGHT);
  const y = (score: number): number => TOP + (1 - score) * (HEIGHT - TOP - BOTTOM);
  const lines = series.slice(0, MOST_LINES);
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
        {[0, 0.25, 0.5, 0.75, 1].map((score) => (
          <g key={score}>
            <line class="grid" x1={LEFT} x2={WIDTH - RIGHT} y1={y(score)} y2={y(score)} />
            <text x={LEFT - 6} y={y(score) + 4} text-anchor="end">
              {score}
            </text>
          </g>
        ))}
        {listTicks(from, to).map((generation) => (
          <text key={generation} x={x(generation)} y={HEIGHT - 8} text-anchor="middle">
            {generation}
          </text>
        ))}
        {threshold !== undefined && (
          <line
            class="threshold"
            x1={LEFT}
            x2={WIDTH - RIGHT}
            y1={y(threshold)}
            y2={y(threshold)}
          />
        )}
        {lines.map(({ protocol, points }, index) => (
          <polyline
            key={protocol}
            class={`series-${index}`}
            points={points
              .map((point) => `${x(point.generation)},${y(point.effectiveness_score)}`)
              .join(" ")}
          />
        ))}
        {turns
          .filter(({ protocol }) => lines.some((each) => each.protocol === protocol))
          .map((turn, index) => (
            <g key={`${turn.protocol} ${index}`} class={turn.decayed ? "decayed" : "recovered"}>
              <title>{nameTurn(turn)}</title>
              <path d={markPath(x(turn.generation), y(turn.score), turn.decayed)} />
            </g>
          ))}
      </svg>
      <figcaption>
        {lines.map(({ protocol }, index) => (
          <span key={protocol} class="legend">
            <svg width="16" height="4" aria-hidden="true">
              <line class={`series-${index}`} x2="16" y1="2" y2="2" />
            </svg>{" "}
            <bdi>{plain(protocol)}</bdi>
          </span>
        ))}
        {threshold !== undefined && <span class="legend">dashed: threshold {threshold}</span>}
        <span class="legend">▼ decayed ▲ recovered</span>
      </figcaption>
    </figure>
  );
}

export function nameTurn({ protocol, generation, decayed, reasons }: Turn): string {
  const what = decayed ? `decayed (${reasons.join(", ")})` : "recovered";
  return plain(`${protocol} ${what} around generation ${generation}`);
}

function markPath(x: number, y: number, down: boolean): string {
  return down
    ? `M${x - 6} ${y - 12}L${x + 6} ${y - 12}L${x} ${y - 2}Z`
    : `M${x - 6} ${y + 12}L${x + 6} ${y + 12}L${x} ${y + 2}Z`;
}

function listTicks(from: number, to: number): number[] {
  const step = Math.max(1, Math.ceil((to - from) / 10));
  return Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, n) => from + n * step);
}
