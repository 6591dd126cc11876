import { useMemo } from "preact/hooks";
import type { Schemas } from "../api/client";
import { BOX_HEIGHT, layOut } from "./machine_layout";
import { findPath, type Machine } from "./machine_path";

interface Props {
  machine: Machine;
  steps: Schemas["Thing"]["steps"];
  current: string | null;
}

/** A state machine as a drawing; the table below it says the same. */
export default function MachineDrawing({ machine, steps, current }: Props) {
  const drawing = useMemo(() => layOut(machine), [machine]);
  const path = findPath(steps);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls
    <section class="drawing" tabIndex={0} aria-label={`State machine ${machine.name}`}>
      <svg
        data-machine={machine.name}
        width={drawing.width}
        height={drawing.height}
        viewBox={`0 0 ${drawing.width} ${drawing.height}`}
        role="img"
        aria-label={`State machine ${machine.name}; the table below lists it`}
      >
        <defs>
          <marker id="arrow" markerWidth="7" markerHeight="7" refX="6" refY="3.5" orient="auto">
            <path d="M0 0 7 3.5 0 7z" />
          </marker>
        </defs>
        {drawing.arrows.map((arrow) => {
          const taken = path.edges.get(arrow.key);
          const middle = arrow.points[Math.floor(arrow.points.length / 2)];
          return (
            <g key={arrow.key} class={taken ? "arrow taken" : "arrow"}>
              <title>{`${arrow.key}: ${arrow.events.join(", ")}`}</title>
              <polyline
                points={arrow.points.map(({ x, y }) => `${x},${y}`).join(" ")}
                marker-end="url(#arrow)"
              />
              {taken && middle && (
                <text x={middle.x} y={middle.y - 5}>
                  {taken.join(",")}
                </text>
              )}
            </g>
          );
        })}
        {drawing.boxes.map((box) => (
          <g
            key={box.state}
            class="box"
            data-state={box.state}
            data-on-path={path.states.has(box.state)}
            data-current={box.state === current}
          >
            <rect
              x={box.x - box.width / 2}
              y={box.y - BOX_HEIGHT / 2}
              width={box.width}
              height={BOX_HEIGHT}
              rx="6"
            />
            {box.state === current && (
              <rect
                x={box.x - box.width / 2 + 3}
                y={box.y - BOX_HEIGHT / 2 + 3}
                width={box.width - 6}
                height={BOX_HEIGHT - 6}
                rx="4"
              />
            )}
            <text x={box.x} y={box.y + 4}>
              {box.state}
            </text>
          </g>
        ))}
      </svg>
    </section>
  );
}
