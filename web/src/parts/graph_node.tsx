import type { DrawnNode } from "../graph/fold";
import { HEIGHT, type Place, WIDTH } from "../graph/layout";
import { plain } from "./text";

/** Below this scale nodes have no labels. */
export const LABELLED = 0.4;
/** Below this scale labels are drawn as large as at this scale. */
const READABLE = 0.85;
/** The widths of a letter and of the space before a line, and half the distance of two lines. */
const LETTER = 7.3;
const PADDING = 8;
const LEADING = 7;

const shorten = (text: string, letters: number): string => {
  if (text.length <= letters) return text;
  const end = Math.floor(letters / 3);
  return `${text.slice(0, letters - 1 - end)}…${text.slice(-end)}`;
};

/** Return how much larger a line is drawn at a scale, and what of a text fits into it. */
export function fitLine(text: string, scale: number): { factor: number; line: string } {
  const factor = Math.max(1, READABLE / scale);
  return { factor, line: shorten(text, Math.floor((WIDTH - 2 * PADDING) / (LETTER * factor))) };
}

/** Name a node in words: what a reader hears, and what a pointer shows. */
export function nameNode(node: DrawnNode): string {
  if (node.members.length > 0) return `${countMembers(node)} ${node.kind}`;
  const retracted = node.retractedBy.length > 0 ? `, retracted by ${node.retractedBy[0]}` : "";
  return plain(`${node.id}${retracted}`);
}

interface Props {
  place: Place;
  state: "start" | "focused" | undefined;
  scale: number;
  onOpen: () => void;
}

/** A node of the graph.  One that is retracted is dashed and says by what. */
export function GraphNodeView({ place, state, scale, onOpen }: Props) {
  const { node, x, y } = place;
  const folded = node.members.length > 0;
  const retracted = node.retractedBy.length > 0;
  const classes = ["node", state, folded && "folded", retracted && "retracted"].filter(Boolean);
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
      {scale >= LABELLED && (
        <>
          <Line text={nameKind(node)} scale={scale} side={-1} />
          <Line text={folded ? node.kind : readId(node)} scale={scale} side={1} />
        </>
      )}
    </g>
  );
}

const countMembers = ({ members }: DrawnNode): string => `${members.length.toLocaleString("en")} ×`;

const readId = (node: DrawnNode): string => plain(node.id.slice(node.kind.length + 1));

function nameKind(node: DrawnNode): string {
  if (node.members.length > 0) return countMembers(node);
  return node.retractedBy.length > 0 ? `⊘ ${node.kind}` : node.kind;
}

/** A line of a label, above the middle of its node or below it. */
function Line({ text, scale, side }: { text: string; scale: number; side: -1 | 1 }) {
  const { factor, line } = fitLine(text, scale);
  const y = HEIGHT / 2 + side * LEADING * factor;
  return (
    <text
      class={side < 0 ? "kind" : undefined}
      transform={`translate(${PADDING} ${y}) scale(${factor})`}
      dominant-baseline="central"
    >
      {line}
    </text>
  );
}

export function elementId(node: string): string {
  return `node ${node}`.replaceAll(/\s/g, "_");
}
