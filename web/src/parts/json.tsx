import { useState } from "preact/hooks";
import { splitText } from "./escape";

const LARGEST = 256 * 1024;
const FOLDED_DEPTH = 4;

/** JSON that folds.  The text of the element is JSON, whatever is folded. */
export function Json({ value, href }: { value: unknown; href?: string }) {
  const text = JSON.stringify(value, null, 2) ?? "null";
  if (text.length > LARGEST) {
    return (
      <p>
        {text.length.toLocaleString("en")} characters.{" "}
        {href && <a href={href}>Open the JSON of the API</a>}
      </p>
    );
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls
    <pre class="json" data-json="" tabIndex={0}>
      <Value value={value} depth={0} />
    </pre>
  );
}

function Value({ value, depth }: { value: unknown; depth: number }) {
  if (Array.isArray(value)) {
    const entries = value.map((each): [null, unknown] => [null, each]);
    return <Group entries={entries} brackets="[]" depth={depth} />;
  }
  if (typeof value === "object" && value !== null) {
    return <Group entries={Object.entries(value)} brackets="{}" depth={depth} />;
  }
  return <span class={`json-${typeof value}`}>{writeScalar(value)}</span>;
}

/** Write a scalar as JSON, with controls as escapes, so that the text parses. */
export function writeScalar(value: unknown): string {
  const text = JSON.stringify(value) ?? "null";
  return splitText(text, true)
    .map(({ text: piece, mark }) => (mark ? `\\u${piece.slice(2).toLowerCase()}` : piece))
    .join("");
}

interface GroupProps {
  entries: readonly (readonly [string | null, unknown])[];
  brackets: "[]" | "{}";
  depth: number;
}

function Group({ entries, brackets, depth }: GroupProps) {
  const [open, setOpen] = useState(depth < FOLDED_DEPTH);
  if (entries.length === 0) return <>{brackets}</>;
  const indent = "  ".repeat(depth + 1);
  return (
    <>
      <button
        type="button"
        class={open ? "fold open" : "fold"}
        aria-expanded={open}
        aria-label={`${entries.length} members`}
        onClick={() => setOpen(!open)}
      />
      {brackets[0]}
      <span hidden={!open}>
        {entries.map(([name, value], index) => (
          <span key={name ?? index}>
            {`\n${indent}`}
            {name !== null && (
              <>
                <span class="json-name">{writeScalar(name)}</span>
                {": "}
              </>
            )}
            <Value value={value} depth={depth + 1} />
            {index < entries.length - 1 && ","}
          </span>
        ))}
        {`\n${"  ".repeat(depth)}`}
      </span>
      {brackets[1]}
    </>
  );
}
