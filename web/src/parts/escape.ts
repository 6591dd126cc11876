/** A part of a text: as it is, or a mark in the place of what must not be shown. */
export interface Piece {
  text: string;
  mark: boolean;
}

const ANSI =
  "\\u001b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\\u0007\\u001b]*(?:\\u0007|\\u001b\\\\)?|[@-Z\\\\-_])";
const CONTROLS = "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069]";
const IN_CODE = "[\\u200b-\\u200f]";

const TEXT = new RegExp(`${ANSI}|${CONTROLS}`, "gu");
const CODE = new RegExp(`${ANSI}|${CONTROLS}|${IN_CODE}`, "gu");

function mark(match: string): string {
  if (match.length > 1) return "ANSI";
  return `U+${match.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Split a text at control characters, bidirectional overrides and ANSI sequences.

code: characters of zero width are marked too. */
export function splitText(value: string, code: boolean): Piece[] {
  const pieces: Piece[] = [];
  let end = 0;
  for (const match of value.matchAll(code ? CODE : TEXT)) {
    if (match.index > end) pieces.push({ text: value.slice(end, match.index), mark: false });
    pieces.push({ text: mark(match[0]), mark: true });
    end = match.index + match[0].length;
  }
  if (end < value.length) pieces.push({ text: value.slice(end), mark: false });
  return pieces;
}
