import { Id, plain } from "../parts/text";
import { type Lessons, listSwarms } from "./figures";

const LEVELS = 4;
const SIZE = 420;
const RADIUS = 150;
const THICKEST = 10;

/** Who taught whom, as a table: accepted and refused lessons. */
export function Matrix({ lessons }: { lessons: readonly Lessons[] }) {
  const swarms = listSwarms(lessons);
  const most = Math.max(1, ...lessons.map(({ accepted }) => accepted));
  const cells = new Map(lessons.map((each) => [JSON.stringify([each.from, each.to]), each]));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls is reached by keyboard
    <section class="scroller matrix" tabIndex={0} aria-label="Lessons by teacher and learner">
      <table>
        <thead>
          <tr>
            <th scope="col">teacher ↓ learner →</th>
            {swarms.map((to) => (
              <th scope="col" key={to} class="number">
                <Id value={to} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {swarms.map((from) => (
            <tr key={from}>
              <th scope="row">
                <Id value={from} />
              </th>
              {swarms.map((to) => {
                const cell = cells.get(JSON.stringify([from, to]));
                const level = cell ? Math.ceil((LEVELS * cell.accepted) / most) : 0;
                return (
                  <td key={to} class={`number level-${level}`}>
                    {cell ? (
                      <>
                        {cell.accepted}
                        {cell.rejected > 0 && <span class="refused"> ✖ {cell.rejected}</span>}
                      </>
                    ) : (
                      <span class="none">–</span>
                    )}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Who taught whom, as a ring: the more lessons, the thicker the arrow. */
export function Ring({ lessons }: { lessons: readonly Lessons[] }) {
  const swarms = listSwarms(lessons);
  const most = Math.max(1, ...lessons.map(({ accepted }) => accepted));
  const place = (swarm: string, radius = RADIUS) => {
    const angle = (2 * Math.PI * swarms.indexOf(swarm)) / swarms.length - Math.PI / 2;
    return {
      x: SIZE / 2 + radius * Math.cos(angle),
      y: SIZE / 2 + radius * Math.sin(angle),
      right: Math.cos(angle),
    };
  };
  return (
    <svg
      class="ring"
      viewBox={`-80 0 ${SIZE + 160} ${SIZE}`}
      role="img"
      aria-label="Who taught whom"
    >
      <defs>
        <marker
          id="arrow"
          viewBox="0 0 8 8"
          refX="7"
          refY="4"
          markerWidth="10"
          markerHeight="10"
          markerUnits="userSpaceOnUse"
          orient="auto"
        >
          <path d="M0 0L8 4L0 8Z" />
        </marker>
      </defs>
      {lessons
        .filter(({ accepted }) => accepted > 0)
        .map(({ from, to, accepted }) => {
          const [start, end] = [place(from, RADIUS - 8), place(to, RADIUS - 12)];
          const bend = 0.35;
          const middle = {
            x: SIZE / 2 + ((start.x + end.x) / 2 - SIZE / 2) * bend + (end.y - start.y) * 0.12,
            y: SIZE / 2 + ((start.y + end.y) / 2 - SIZE / 2) * bend - (end.x - start.x) * 0.12,
          };
          return (
            <path
              key={`${from}\n${to}`}
              class="lesson"
              marker-end="url(#arrow)"
              stroke-width={1 + (THICKEST - 1) * (accepted / most)}
              d={`M${start.x} ${start.y}Q${middle.x} ${middle.y} ${end.x} ${end.y}`}
            >
              <title>{plain(`${from} taught ${to} ${accepted} lessons`)}</title>
            </path>
          );
        })}
      {swarms.map((swarm) => {
        const { x, y } = place(swarm);
        const label = place(swarm, RADIUS + 16);
        const anchor = Math.abs(label.right) < 0.2 ? "middle" : label.right > 0 ? "start" : "end";
        return (
          <g key={swarm}>
            <circle cx={x} cy={y} r={6} />
            <text x={label.x} y={label.y + 4} text-anchor={anchor}>
              {plain(swarm)}
            </text>
          </g>
        );
      })}
    </svg>
  );
}
