import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { announce } from "../state/announce";
import { CopyMenu, type Source } from "./copy";
import { SaveView } from "./save_view";
import { plain } from "./text";

interface Props {
  name: string;
  title: string;
  /** What stands beside the heading. */
  beside?: ComponentChildren;
  source?: Source;
  stale?: boolean;
  asOf?: string | undefined;
  children: ComponentChildren;
}

/** The frame of every page: one heading, and how to copy what it shows. */
export function Page({ name, title, beside, source, stale, asOf, children }: Props) {
  useEffect(() => {
    document.title = `${plain(title)} · headrace`;
    announce(plain(title));
  }, [title]);
  return (
    <main
      id="main"
      tabIndex={-1}
      data-page={name}
      data-stale={stale ? "true" : undefined}
      data-as-of={asOf}
    >
      <header class="heading">
        <h1>
          <bdi>{plain(title)}</bdi>
        </h1>
        {beside}
        {source && (
          <span class="tools">
            <SaveView title={title} />
            <CopyMenu source={source} />
          </span>
        )}
      </header>
      {children}
    </main>
  );
}
