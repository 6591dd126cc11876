import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { drawPaths } from "../graph/edges";
import type { DrawnGraph, DrawnNode } from "../graph/fold";
import { layOut } from "../graph/layout";
import { type Direction, stepFrom } from "../graph/steps";
import { centre, fitView, isSeen, pan, reveal, type Size, type View, zoom } from "../graph/view";
import { elementId, GraphNodeView, LABELLED, nameNode } from "./graph_node";
import { Icon } from "./icons";
import { plain } from "./text";

const FACTOR = 1.25;
const STEP = 80;
const ARROWS: Record<string, Direction> = {
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowLeft: "left",
  ArrowRight: "right",
};
const SHIFTS: Record<Direction, readonly [number, number]> = {
  up: [0, STEP],
  down: [0, -STEP],
  left: [STEP, 0],
  right: [-STEP, 0],
};

interface Props {
  start: string;
  graph: DrawnGraph;
  /** How many nodes there are, and how many of them are folded away. */
  total: number;
  folded: number;
  onOpen: (node: DrawnNode) => void;
}

function useSize() {
  const frame = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  useEffect(() => {
    const element = frame.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() =>
      setSize({ width: element.clientWidth, height: element.clientHeight }),
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { frame, size };
}

/** Zoom with the wheel, pan by dragging. */
function usePointer(
  frame: { readonly current: HTMLElement | null },
  change: (update: (view: View) => View) => void,
) {
  const drag = useRef<{ x: number; y: number; moved: boolean }>(undefined);
  useEffect(() => {
    const element = frame.current;
    if (!element) return undefined;
    const onWheel = (event: WheelEvent): void => {
      event.preventDefault();
      const box = element.getBoundingClientRect();
      const at = { x: event.clientX - box.left, y: event.clientY - box.top };
      change((view) => zoom(view, event.deltaY < 0 ? FACTOR : 1 / FACTOR, at));
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, []);
  return {
    wasDragged: () => drag.current?.moved ?? false,
    handlers: {
      onPointerDown: (event: PointerEvent): void => {
        drag.current = { x: event.clientX, y: event.clientY, moved: false };
      },
      onPointerMove: (event: PointerEvent): void => {
        const from = drag.current;
        if (!from || event.buttons === 0) return;
        const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
        if (!from.moved && Math.hypot(dx, dy) < 4) return;
        drag.current = { x: event.clientX, y: event.clientY, moved: true };
        change((view) => pan(view, dx, dy));
      },
    },
  };
}

/** A graph that is zoomed and panned; only the nodes in view are in the document. */
export function Graph({ start, graph, total, folded, onOpen }: Props) {
  const layout = useMemo(() => layOut(graph), [graph]);
  const paths = useMemo(() => [...drawPaths(graph.edges, layout)], [graph, layout]);
  const { frame, size } = useSize();
  const [own, setOwn] = useState<{ start: string; view: View }>();
  const [focused, setFocused] = useState(start);
  const view = own?.start === start ? own.view : initialView();
  const latest = useRef(view);
  latest.current = view;
  const change = (update: (view: View) => View): void => {
    latest.current = update(latest.current);
    setOwn({ start, view: latest.current });
  };
  const { handlers, wasDragged } = usePointer(frame, change);

  function initialView(): View {
    const all = fitView(layout, size);
    const place = layout.places.get(start);
    if (all.scale >= LABELLED || place === undefined) return all;
    return centre(place, LABELLED, size);
  }
  function middle() {
    return { x: size.width / 2, y: size.height / 2 };
  }
  const open = (id: string): void => {
    const node = layout.places.get(id)?.node;
    if (node) onOpen(node);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const arrow = ARROWS[event.key];
    if (arrow !== undefined && event.shiftKey) change((each) => pan(each, ...SHIFTS[arrow]));
    else if (arrow !== undefined) {
      const next = stepFrom(focused, arrow, graph, layout);
      const place = next === undefined ? undefined : layout.places.get(next);
      if (next === undefined || place === undefined) return;
      setFocused(next);
      change((each) => reveal(each, place, size));
    } else if (event.key === "+") change((each) => zoom(each, FACTOR, middle()));
    else if (event.key === "-") change((each) => zoom(each, 1 / FACTOR, middle()));
    else if (event.key === "0") change(() => fitView(layout, size));
    else if (event.key === "Enter") open(focused);
    else return;
    event.preventDefault();
  };
  const seen = [...layout.places.values()].filter((place) => isSeen(view, place, size));
  const label = `Lineage of ${plain(start)}: ${graph.nodes.length} nodes. Arrows follow edges, Enter opens.`;
  return (
    <div class="graph">
      <div class="zoom">
        <button
          type="button"
          aria-label="Zoom in"
          onClick={() => change((v) => zoom(v, FACTOR, middle()))}
        >
          <Icon name="plus" />
        </button>
        <button
          type="button"
          aria-label="Zoom out"
          onClick={() => change((v) => zoom(v, 1 / FACTOR, middle()))}
        >
          <Icon name="minus" />
        </button>
        <button type="button" onClick={() => change(() => fitView(layout, size))}>
          All
        </button>
      </div>
      <div
        class="canvas"
        ref={frame}
        role="application"
        aria-label={label}
        aria-activedescendant={
          seen.some((each) => each.node.id === focused) ? elementId(focused) : undefined
        }
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it takes keys
        tabIndex={0}
        data-graph=""
        data-nodes={total}
        data-drawn={graph.nodes.length}
        data-folded={folded}
        data-edges={graph.edges.length}
        onKeyDown={onKeyDown}
        {...handlers}
      >
        <svg width={size.width} height={size.height} aria-hidden="true">
          <g transform={`scale(${view.scale}) translate(${-view.x} ${-view.y})`}>
            {paths.map(([relation, path]) => (
              <path key={relation} class={`edge ${relation}`} d={path} />
            ))}
            {seen.map((place) => (
              <GraphNodeView
                key={place.node.id}
                place={place}
                state={
                  place.node.id === focused
                    ? "focused"
                    : place.node.id === start
                      ? "start"
                      : undefined
                }
                scale={view.scale}
                onOpen={() => {
                  if (!wasDragged()) onOpen(place.node);
                }}
              />
            ))}
          </g>
        </svg>
      </div>
      <p class="legends">
        {paths.map(([relation]) => (
          <span key={relation} class="legend">
            <svg width="20" height="4" aria-hidden="true">
              <path class={`edge ${relation}`} d="M0 2H20" />
            </svg>{" "}
            {relation.replaceAll("_", " ")}
          </span>
        ))}
      </p>
      <p class="muted">
        <bdi>{nameNode(layout.places.get(focused)?.node ?? { ...EMPTY_NODE, id: start })}</bdi>
      </p>
    </div>
  );
}

const EMPTY_NODE: DrawnNode = { id: "", kind: "", level: 0, members: [], retractedBy: [] };
