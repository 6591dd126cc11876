import type { Schemas } from "../api/client";

export type GraphNode = Schemas["GraphNode"];
export type GraphEdge = Pick<
  Schemas["headrace.core.LineageEdge"],
  "from_node" | "relation" | "to_node"
>;

/** A node as it is drawn: one of the graph, or many that are folded into one. */
export interface DrawnNode {
  id: string;
  kind: string;
  /** Distance from the start: below 0 for what came later, above 0 for what came before. */
  level: number;
  retractedBy: readonly string[];
  members: readonly string[];
}

export interface DrawnGraph {
  nodes: DrawnNode[];
  edges: GraphEdge[];
}

/** How many siblings of one kind and relation are drawn one by one. */
export const SIBLINGS = 12;

type Neighbours = ReadonlyMap<string, readonly GraphEdge[]>;

function groupBy(edges: readonly GraphEdge[], end: "from_node" | "to_node"): Neighbours {
  const groups = new Map<string, GraphEdge[]>();
  for (const edge of edges) {
    const group = groups.get(edge[end]);
    if (group === undefined) groups.set(edge[end], [edge]);
    else group.push(edge);
  }
  return groups;
}

/** Return the nodes that depend on the start, directly or indirectly. */
function findLater(start: string, into: Neighbours): ReadonlySet<string> {
  const later = new Set<string>();
  const queue = [start];
  for (let node = queue.pop(); node !== undefined; node = queue.pop()) {
    for (const { from_node: next } of into.get(node) ?? []) {
      if (next === start || later.has(next)) continue;
      later.add(next);
      queue.push(next);
    }
  }
  return later;
}

function findEarlier(start: string, out: Neighbours): ReadonlySet<string> {
  const earlier = new Set<string>();
  const queue = [start];
  for (let node = queue.pop(); node !== undefined; node = queue.pop()) {
    for (const { to_node: next } of out.get(node) ?? []) {
      if (next === start || earlier.has(next)) continue;
      earlier.add(next);
      queue.push(next);
    }
  }
  return earlier;
}

/** Fold siblings of one kind and relation into one node, where they are many.

opened: the folded nodes that are drawn open. */
export function foldGraph(
  start: string,
  nodes: readonly GraphNode[],
  edges: readonly GraphEdge[],
  opened: ReadonlySet<string>,
): DrawnGraph {
  const [out, into] = [groupBy(edges, "from_node"), groupBy(edges, "to_node")];
  const earlier = findEarlier(start, out);
  const later = findLater(start, into);
  const distances = new Map(nodes.map((each) => [each.node, each.distance]));
  const levels = new Map(
    nodes.map(({ node, distance }) => {
      const isEarlier = earlier.has(node) && !later.has(node);
      return [node, isEarlier ? distance : -distance] as const;
    }),
  );
  const groups = new Map<string, string[]>();
  for (const { node, kind, distance } of nodes) {
    const name = nameGroup(node, kind, distance, distances, out, into);
    if (name === undefined) continue;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [node]);
    else group.push(node);
  }
  const folded = new Map<string, string>();
  for (const [name, members] of groups) {
    if (members.length <= SIBLINGS || opened.has(name)) continue;
    for (const member of members) folded.set(member, name);
  }
  return {
    nodes: drawNodes(nodes, levels, folded, groups),
    edges: drawEdges(edges, folded, distances),
  };
}

/** Name the siblings that a node belongs to: by the neighbour nearer to the start. */
function nameGroup(
  node: string,
  kind: string,
  distance: number,
  distances: ReadonlyMap<string, number>,
  out: Neighbours,
  into: Neighbours,
): string | undefined {
  for (const edge of [...(out.get(node) ?? []), ...(into.get(node) ?? [])]) {
    const isOut = edge.from_node === node;
    const nearer = isOut ? edge.to_node : edge.from_node;
    if ((distances.get(nearer) ?? distance) < distance) {
      return `fold ${nearer} ${edge.relation} ${isOut ? "out" : "in"} ${kind}`;
    }
  }
  return undefined;
}

function drawNodes(
  nodes: readonly GraphNode[],
  levels: ReadonlyMap<string, number>,
  folded: ReadonlyMap<string, string>,
  groups: ReadonlyMap<string, readonly string[]>,
): DrawnNode[] {
  const drawn = new Map<string, DrawnNode>();
  for (const { node, kind, retracted_by } of nodes) {
    const id = folded.get(node) ?? node;
    if (drawn.has(id)) continue;
    const members = id === node ? [] : (groups.get(id) ?? []);
    const level = levels.get(node) ?? 0;
    drawn.set(id, { id, kind, level, members, retractedBy: id === node ? retracted_by : [] });
  }
  return [...drawn.values()];
}

function drawEdges(
  edges: readonly GraphEdge[],
  folded: ReadonlyMap<string, string>,
  present: ReadonlyMap<string, number>,
): GraphEdge[] {
  const drawn = new Map<string, GraphEdge>();
  for (const { from_node, relation, to_node } of edges) {
    if (!present.has(from_node) || !present.has(to_node)) continue;
    const from = folded.get(from_node) ?? from_node;
    const to = folded.get(to_node) ?? to_node;
    if (from === to) continue;
    drawn.set(`${from}\n${relation}\n${to}`, { from_node: from, relation, to_node: to });
  }
  return [...drawn.values()];
}
