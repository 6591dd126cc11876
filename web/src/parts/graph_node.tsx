import type { DrawnNode } from "../graph/fold";
import { HEIGHT, type Place, WIDTH } from "../graph/layout";
import { plain } from "./text";

const LETTERS = 25;

const shorten = (text: string): string =>
  text.length > LETTERS ? `${text.slice(0, LETTERS - 9)}…${text.slice(-8)}` : text;

/** Name a node in words: what a reader hears, and what a pointer shows. */
export function nameNode(node: DrawnNode): string {
  if (node.members.length > 0) return `${node.members.length} × ${node.kind}`;
  const retracted = node.retractedBy.length > 0 ? `, retracted by ${node.retractedBy[0]}` : "";
  return plain(`${node.id}${retracted}`);
}

interface Props {
  place: Place;
  state: "start" | "focused" | undefined;
  withLabel: boolean;
  onOpen: () => void;
}

/** A node of the graph.  One that is retracted is dashed and says by what. */
export function GraphNodeView({ place, state, withLabel, onOpen }: Props) {
  const { node, x, y } = place;
  const folded = node.members.length > 0;
  const retracted = node.retractedBy.length > 0;
  const classes = ["node", state, folded && "folded", retracted && "retracted"].filter(Boolean);
  const id = node.id.slice(node.kind.length + 1);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the graph around it takes the keys
    <g
      id={elementId(node.id)}
      class={classes.join(" ")}
      data-node={node.id}
      transform={`translate(${x} ${y})`}
      onClick={onOpen}
    >
      <title>{nameNode(node)}</title>
      <rect width={WIDTH} height={HEIGHT} rx={6} />
      {withLabel && (
        <>
          <text x={10} y={18} class="kind">
            {folded ? `${node.members.length} ×` : node.kind}
            {retracted && " ⊘ retracted"}
          </text>
          <text x={10} y={35}>
            {folded ? node.kind : shorten(plain(id))}
          </text>
        </>
      )}
    </g>
  );
}

export function elementId(node: string): string {
  return `node ${node}`.replaceAll(/\s/g, "_");
}
