import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { useUrl } from "../state/url";

export interface Tab {
  name: string;
  label: string;
  count?: number;
  render: () => ComponentChildren;
}

interface Props {
  label: string;
  tabs: readonly Tab[];
  /** Parameters of one tab that another has not. */
  clear?: (name: string) => Record<string, undefined>;
}

/** Scroll a list of tabs that is wider than the page to the chosen one. */
function showSelected(list: HTMLElement): void {
  const tab = list.querySelector<HTMLElement>("[aria-selected=true]");
  if (tab) list.scrollLeft = tab.offsetLeft + tab.offsetWidth / 2 - list.clientWidth / 2;
}

/** Tabs; the chosen one stands in the address. */
export function Tabs({ label, tabs, clear }: Props) {
  const { query, change } = useUrl();
  const current = tabs.find((each) => each.name === query["tab"]) ?? tabs[0];
  const list = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (list.current) showSelected(list.current);
  }, [current?.name]);
  if (!current) return null;
  const select = (name: string): void =>
    change({ ...clear?.(name), tab: name === tabs[0]?.name ? undefined : name }, false);
  const onKey = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const next = tabs[(tabs.indexOf(current) + step + tabs.length) % tabs.length];
    if (!next) return;
    select(next.name);
    document.getElementById(`tab-${next.name}`)?.focus();
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label={label} ref={list}>
        {tabs.map((tab) => (
          <button
            type="button"
            role="tab"
            id={`tab-${tab.name}`}
            key={tab.name}
            aria-selected={tab === current}
            aria-controls="panel"
            tabIndex={tab === current ? 0 : -1}
            onClick={() => select(tab.name)}
            onKeyDown={onKey}
          >
            {tab.label}
            {tab.count !== undefined && (
              <span class="muted"> {tab.count.toLocaleString("en")}</span>
            )}
          </button>
        ))}
      </div>
      <div id="panel" role="tabpanel" aria-labelledby={`tab-${current.name}`} key={current.name}>
        {current.render()}
      </div>
    </>
  );
}
