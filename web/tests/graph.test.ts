import { expect, test } from "vitest";
import { drawPaths } from "../src/graph/edges";
import { foldGraph, type GraphEdge, type GraphNode } from "../src/graph/fold";
import { HEIGHT, layOut, WIDTH, WRAP } from "../src/graph/layout";
import { fitView, isSeen, pan, reveal, zoom } from "../src/graph/view";
import { fitLine, LABELLED } from "../src/parts/graph_node";

const node = (name: string, distance: number, kind = "apc:packet"): GraphNode => ({
  node: name,
  kind,
  distance,
  retracted_by: [],
});
const edge = (from_node: string, to_node: string, relation = "child_of"): GraphEdge => ({
  from_node,
  relation,
  to_node,
});
const none = new Set<string>();

test("what came later stands above what came before", () => {
  const nodes = [node("start", 0), node("child", 1), node("parent", 1), node("grandchild", 2)];
  const edges = [edge("child", "start"), edge("start", "parent"), edge("grandchild", "child")];
  const drawn = foldGraph("start", nodes, edges, none);
  const { places } = layOut(drawn);
  const byHeight = [...places].sort(([, a], [, b]) => a.y - b.y).map(([name]) => name);
  expect(byHeight).toEqual(["grandchild", "child", "start", "parent"]);
});

test("more than twelve siblings fold until they are opened", () => {
  const turns = Array.from({ length: 31 }, (_, index) => node(`turn-${index}`, 1, "saop:turn"));
  const nodes = [node("start", 0), ...turns, node("other", 1), node("last", 2)];
  const edges = [
    ...turns.map((turn) => edge(turn.node, "start", "part_of")),
    edge("other", "start", "part_of"),
    edge("last", "turn-30"),
  ];
  const drawn = foldGraph("start", nodes, edges, none);
  expect(drawn.nodes.length).toBe(4);
  const fold = drawn.nodes.find((each) => each.members.length > 0);
  expect(fold?.members.length).toBe(31);
  expect(drawn.edges).toContainEqual(edge("last", fold?.id ?? ""));
  expect(foldGraph("start", nodes, edges, new Set([fold?.id ?? ""])).nodes.length).toBe(34);
});

test("edges to nodes that are not there are left out", () => {
  expect(foldGraph("a", [node("a", 0)], [edge("b", "a")], none).edges).toEqual([]);
});

test("a wide layer wraps, and no two nodes overlap", () => {
  const kinds = Array.from({ length: 100 }, (_, index) => node(`n${index}`, 1, `kind-${index}`));
  const edges = kinds.map((each) => edge(each.node, "start"));
  const { places } = layOut(foldGraph("start", [node("start", 0), ...kinds], edges, none));
  const spots = [...places.values()].map(({ x, y }) => `${x} ${y}`);
  expect(new Set(spots).size).toBe(101);
  const rows = new Map<number, number>();
  for (const { y } of places.values()) rows.set(y, (rows.get(y) ?? 0) + 1);
  expect(Math.max(...rows.values())).toBeLessThanOrEqual(WRAP);
});

test("the layers are ordered so that edges do not cross", () => {
  const nodes = [node("start", 0), node("a", 1), node("b", 1), node("b1", 2), node("a1", 2)];
  const edges = [edge("a", "start"), edge("b", "start"), edge("b1", "b"), edge("a1", "a")];
  const { places } = layOut(foldGraph("start", nodes, edges, none));
  const x = (name: string): number => places.get(name)?.x ?? Number.NaN;
  expect(x("a") < x("b")).toBe(x("a1") < x("b1"));
});

test("two thousand nodes are all placed", () => {
  const nodes = [node("n0", 0)];
  const edges: GraphEdge[] = [];
  for (let index = 1; index < 2000; index += 1) {
    const parent = Math.floor((index - 1) / 3);
    const distance = (nodes[parent]?.distance ?? 0) + 1;
    nodes.push(node(`n${index}`, distance));
    edges.push(edge(`n${index}`, `n${parent}`), edge(`n${index}`, "n0", "same_trace"));
  }
  const drawn = foldGraph("n0", nodes, edges, none);
  expect(layOut(drawn).places.size).toBe(drawn.nodes.length);
});

test("each relation is one path", () => {
  const nodes = [node("start", 0), node("a", 1), node("b", 1)];
  const edges = [edge("a", "start"), edge("b", "start"), edge("a", "b", "replaces")];
  const drawn = foldGraph("start", nodes, edges, none);
  const paths = drawPaths(drawn.edges, layOut(drawn));
  expect([...paths.keys()]).toEqual(["child_of", "replaces"]);
  expect(paths.get("child_of")?.match(/M/g)?.length).toBe(2);
});

test("zooming keeps the point under the pointer, and a place can be brought into view", () => {
  const view = { x: 10, y: 20, scale: 1 };
  const zoomed = zoom(view, 1.5, { x: 100, y: 50 });
  expect(zoomed.x + 100 / zoomed.scale).toBeCloseTo(110);
  expect(pan(zoomed, 15, 0).x).toBeCloseTo(zoomed.x - 10);
  const size = { width: 400, height: 300 };
  const place = {
    node: { id: "a", kind: "", level: 0, retractedBy: [], members: [] },
    x: 2000,
    y: 0,
  };
  expect(isSeen(view, place, size)).toBe(false);
  expect(isSeen(reveal(view, place, size), place, size)).toBe(true);
  const all = fitView({ places: new Map(), width: 4000, height: HEIGHT }, size);
  expect(all.scale).toBeLessThan(0.1);
});

test("a line of a small node stays readable and fits its node", () => {
  const id = "7f0c2f5d-0f76-4a4c-93d0-f0b2e2891730";
  for (const scale of [LABELLED, 0.5, 0.7]) {
    const { factor, line } = fitLine(id, scale);
    expect(12 * factor * scale).toBeGreaterThan(10);
    expect(line.length * 7.2 * factor).toBeLessThanOrEqual(WIDTH);
    expect(line).toMatch(/^7f0c.*….*730$/);
  }
  expect(fitLine("31 × saop:turn", 1)).toEqual({ factor: 1, line: "31 × saop:turn" });
});
