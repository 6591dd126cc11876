import type { GraphEdge } from "./fold";
import { HEIGHT, type Layout, type Place, WIDTH } from "./layout";

/** Return the outline of all edges of each relation, one path for each. */
export function drawPaths(edges: readonly GraphEdge[], layout: Layout): Map<string, string> {
  const paths = new Map<string, string[]>();
  for (const edge of edges) {
    const from = layout.places.get(edge.from_node);
    const to = layout.places.get(edge.to_node);
    if (from === undefined || to === undefined) continue;
    const path = paths.get(edge.relation);
    const curve = drawCurve(from, to);
    if (path === undefined) paths.set(edge.relation, [curve]);
    else path.push(curve);
  }
  return new Map([...paths].map(([relation, curves]) => [relation, curves.join("")]));
}

function drawCurve(from: Place, to: Place): string {
  const [x1, x2] = [from.x + WIDTH / 2, to.x + WIDTH / 2];
  if (from.y === to.y) {
    const lift = from.y - HEIGHT / 2;
    return `M${x1} ${from.y}C${x1} ${lift} ${x2} ${lift} ${x2} ${to.y}`;
  }
  const isDown = to.y > from.y;
  const y1 = isDown ? from.y + HEIGHT : from.y;
  const y2 = isDown ? to.y : to.y + HEIGHT;
  const middle = (y1 + y2) / 2;
  return `M${x1} ${y1}C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}`;
}
