import type { DrawnGraph } from "./fold";
import type { Layout } from "./layout";

export type Direction = "up" | "down" | "left" | "right";

/** Return the node that an arrow leads to: along an edge up or down, else beside. */
export function stepFrom(
  id: string,
  direction: Direction,
  graph: DrawnGraph,
  layout: Layout,
): string | undefined {
  const here = layout.places.get(id);
  if (here === undefined) return undefined;
  const vertical = direction === "up" || direction === "down";
  const sign = direction === "up" || direction === "left" ? -1 : 1;
  const names = vertical ? listNeighbours(id, graph) : layout.places.keys();
  let best: { id: string; distance: number } | undefined;
  for (const name of names) {
    const place = layout.places.get(name);
    if (place === undefined || name === id) continue;
    const [dx, dy] = [place.x - here.x, place.y - here.y];
    if (vertical ? dy * sign <= 0 : dy !== 0 || dx * sign <= 0) continue;
    const distance = Math.hypot(dx, dy);
    if (best === undefined || distance < best.distance) best = { id: name, distance };
  }
  return best?.id;
}

function* listNeighbours(id: string, graph: DrawnGraph): Iterable<string> {
  for (const { from_node: from, to_node: to } of graph.edges) {
    if (from === id) yield to;
    if (to === id) yield from;
  }
}
