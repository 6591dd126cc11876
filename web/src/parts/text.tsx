import { useState } from "preact/hooks";
import { type Piece, splitText } from "./escape";

const CLIP = 4096;

function renderPiece(piece: Piece, index: number) {
  return piece.mark ? (
    <span class="mark" key={index}>
      {piece.text}
    </span>
  ) : (
    piece.text
  );
}

/** Text that somebody sent: only ever text nodes, with controls made visible.

code: an id or code, where marks of zero width are shown too. */
export function Text({ value, code = false }: { value: string; code?: boolean }) {
  const [whole, setWhole] = useState(false);
  const clipped = !whole && value.length > CLIP;
  const pieces = splitText(clipped ? value.slice(0, CLIP) : value, code);
  return (
    <bdi class={code ? "code" : undefined}>
      {pieces.map(renderPiece)}
      {clipped && (
        <>
          {"… "}
          <button type="button" class="quiet" onClick={() => setWhole(true)}>
            show all {value.length.toLocaleString("en")} characters
          </button>
        </>
      )}
    </bdi>
  );
}

/** An id, cut in its middle where it is long.  The title has all of it. */
export function Id({ value, length = 28 }: { value: string; length?: number }) {
  const cut =
    value.length > length
      ? `${value.slice(0, Math.ceil(length / 2))}…${value.slice(-Math.floor(length / 3))}`
      : value;
  return (
    <span title={plain(value)}>
      <Text value={cut} code />
    </span>
  );
}

/** Text for an attribute, with its controls as marks. */
export function plain(value: string): string {
  return splitText(value, true)
    .map((each) => each.text)
    .join("");
}
