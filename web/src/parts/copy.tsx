import { useState } from "preact/hooks";
import { Icon } from "./icons";

/** Where the data of a page comes from: the path of its route, and a command for the same. */
export interface Source {
  path: string;
  command: string;
}

/** Quote an argument for a POSIX shell. */
export function quote(argument: string): string {
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
    <button type="button" class="quiet" onClick={copy} title={text()}>
      {done ? "copied" : label}
    </button>
  );
}

/** Copy the link, the `curl` command and the `headrace` command of what a page shows. */
export function CopyMenu({ source }: { source: Source }) {
  return (
    <span class="copy">
      <Icon name="copy" />
      <span class="muted">Copy</span>
      <CopyButton label="link" text={() => location.href} />
      <CopyButton label="curl" text={() => `curl ${quote(location.origin + source.path)}`} />
      <CopyButton label="command" text={() => source.command} />
    </span>
  );
}
