import { Graph, layout } from "@dagrejs/dagre";
import { drawnEdges, edgeKey, type Machine } from "./machine_path";

export interface Box {
  state: string;
  x: number;
  y: number;
  width: number;
}

export interface Arrow {
  key: string;
  events: string[];
  points: { x: number; y: number }[];
}

export interface Drawing {
  width: number;
  height: number;
  boxes: Box[];
  arrows: Arrow[];
}

export const BOX_HEIGHT = 28;
const LETTER = 7;

/** Lay a state machine out, from left to right. */
export function layOut(machine: Machine): Drawing {
  const graph = new Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 22, ranksep: 44, marginx: 8, marginy: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const state of machine.states) {
    graph.setNode(state, { width: state.length * LETTER + 24, height: BOX_HEIGHT });
  }
  const edges = drawnEdges(machine);
  for (const { from, to } of edges) graph.setEdge(from, to);
  layout(graph);
  const { width = 0, height = 0 } = graph.graph();
  return {
    width,
    height,
    boxes: machine.states.map((state) => {
      const { x, y, width: boxWidth } = graph.node(state);
      return { state, x, y, width: boxWidth };
    }),
    arrows: edges.map(({ from, to, events }) => ({
      key: edgeKey(from, to),
      events,
      points: graph.edge(from, to).points,
    })),
  };
}
