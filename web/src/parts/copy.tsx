import { useState } from "preact/hooks";
import { splitText } from "./escape";
import { Icon } from "./icons";
import { plain } from "./text";

/** Where the data of a page comes from: the path of its route, and a command for the same, if any. */
export interface Source {
  path: string;
  command: string | undefined;
}

function escapeLetter(letter: string): string {
  const code = letter.codePointAt(0) ?? 0;
  return code > 0xffff
    ? `\\U${code.toString(16).padStart(8, "0")}`
    : `\\u${code.toString(16).padStart(4, "0")}`;
}

/** Quote an argument for a shell.  What would act on a terminal is written as `\uXXXX` of bash. */
export function quote(argument: string): string {
  if (splitText(argument, true).some(({ mark }) => mark)) {
    const escaped = argument.replaceAll(/[^ -~]|['\\]/gu, escapeLetter);
    return `$'${escaped}'`;
  }
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}

/** A button that copies a text, and says so. */
export function CopyButton({ label, text }: { label: string; text: () => string }) {
  const [done, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text());
    setDone(true);
    window.setTimeout(() => setDone(false), 2000);
  };
  return (
    <button type="button" class="quiet" onClick={copy} title={plain(text())}>
      {done ? "copied" : label}
    </button>
  );
}

/** Copy the link, the `curl` command and the `headrace` command of what a page shows. */
export function CopyMenu({ source }: { source: Source }) {
  const { command } = source;
  return (
    <span class="copy">
      <Icon name="copy" />
      <span class="muted">Copy</span>
      <CopyButton label="link" text={() => location.href} />
      <CopyButton label="curl" text={() => `curl ${quote(location.origin + source.path)}`} />
      {command !== undefined && <CopyButton label="command" text={() => command} />}
    </span>
  );
}
