import type { DrawnGraph, DrawnNode } from "./fold";

export const WIDTH = 200;
export const HEIGHT = 56;
export const GAP_X = 24;
export const GAP_Y = 52;
/** How many nodes stand beside each other at most; a wider layer wraps. */
export const WRAP = 40;
const SWEEPS = 4;

export interface Place {
  node: DrawnNode;
  x: number;
  y: number;
}

export interface Layout {
  places: ReadonlyMap<string, Place>;
  width: number;
  height: number;
}

/** Place the nodes in layers by level, the latest on top, with few crossings. */
export function layOut(graph: DrawnGraph): Layout {
  const layers = toLayers(graph.nodes);
  const neighbours = listNeighbours(graph);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    orderLayers(layers, neighbours);
    orderLayers([...layers].reverse(), neighbours);
  }
  return place(layers.flatMap(wrap));
}

function toLayers(nodes: readonly DrawnNode[]): DrawnNode[][] {
  const layers = new Map<number, DrawnNode[]>();
  for (const node of nodes) {
    const layer = layers.get(node.level);
    if (layer === undefined) layers.set(node.level, [node]);
    else layer.push(node);
  }
  return [...layers].sort(([a], [b]) => a - b).map(([, layer]) => layer);
}

function listNeighbours(graph: DrawnGraph): ReadonlyMap<string, string[]> {
  const neighbours = new Map<string, string[]>(graph.nodes.map(({ id }) => [id, []]));
  for (const { from_node: from, to_node: to } of graph.edges) {
    neighbours.get(from)?.push(to);
    neighbours.get(to)?.push(from);
  }
  return neighbours;
}

/** Order each layer by the mean place of the neighbours in the layers before it. */
function orderLayers(
  layers: readonly DrawnNode[][],
  neighbours: ReadonlyMap<string, readonly string[]>,
): void {
  const spots = new Map<string, number>();
  for (const layer of layers) {
    const own = new Map(layer.map(({ id }, index) => [id, (index + 0.5) / layer.length]));
    const means = new Map(
      layer.map(({ id }) => {
        const before = (neighbours.get(id) ?? []).flatMap((each) => spots.get(each) ?? []);
        const sum = before.reduce((total, each) => total + each, 0);
        return [id, before.length === 0 ? (own.get(id) ?? 0) : sum / before.length];
      }),
    );
    layer.sort((a, b) => (means.get(a.id) ?? 0) - (means.get(b.id) ?? 0));
    layer.forEach(({ id }, index) => {
      spots.set(id, (index + 0.5) / layer.length);
    });
  }
}

function wrap(layer: readonly DrawnNode[]): DrawnNode[][] {
  const count = Math.ceil(layer.length / WRAP);
  const size = Math.ceil(layer.length / count);
  return Array.from({ length: count }, (_, index) => layer.slice(index * size, (index + 1) * size));
}

function place(rows: readonly DrawnNode[][]): Layout {
  const widest = Math.max(1, ...rows.map((row) => row.length));
  const width = widest * (WIDTH + GAP_X) - GAP_X;
  const places = new Map<string, Place>();
  rows.forEach((row, index) => {
    const left = (width - (row.length * (WIDTH + GAP_X) - GAP_X)) / 2;
    row.forEach((node, column) => {
      const x = left + column * (WIDTH + GAP_X);
      places.set(node.id, { node, x, y: index * (HEIGHT + GAP_Y) });
    });
  });
  return { places, width, height: rows.length * (HEIGHT + GAP_Y) - GAP_Y };
}
