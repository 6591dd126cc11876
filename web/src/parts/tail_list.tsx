import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
} from "@tanstack/virtual-core";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Row } from "../tail/rows";
import { TailRow } from "./tail_row";

const LINE = 26;
const OVERSCAN = 10;
const UPWARDS = new Set(["ArrowUp", "PageUp", "Home"]);

interface Props {
  rows: readonly Row[];
  withSession: boolean;
  isMatch: (row: Row) => boolean;
  following: boolean;
  onLeave: () => void;
}

function useMeasuredRows(rows: readonly Row[]) {
  const scroller = useRef<HTMLDivElement>(null);
  const [, redraw] = useState(0);
  const options = {
    count: rows.length,
    getScrollElement: () => scroller.current,
    getItemKey: (index: number) => rows[index]?.key ?? index,
    estimateSize: () => LINE,
    overscan: OVERSCAN,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => redraw((each) => each + 1),
  };
  const [virtualizer] = useState(() => new Virtualizer<HTMLDivElement, HTMLDivElement>(options));
  virtualizer.setOptions({ ...virtualizer.options, ...options });
  useEffect(() => virtualizer._didMount(), [virtualizer]);
  useLayoutEffect(() => virtualizer._willUpdate());
  return { scroller, virtualizer };
}

/** The rows of a tail; only those in view are drawn.  The newest one is at the bottom. */
export function TailList({ rows, withSession, isMatch, following, onLeave }: Props) {
  const { scroller, virtualizer } = useMeasuredRows(rows);
  const height = virtualizer.getTotalSize();
  useLayoutEffect(() => {
    const element = scroller.current;
    if (following && element) element.scrollTop = element.scrollHeight;
  }, [following, height, rows]);
  const items = virtualizer.getVirtualItems();
  const start = items[0]?.start ?? 0;
  return (
    <section
      class="tail"
      ref={scroller}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls is reached by keyboard
      tabIndex={0}
      aria-label="Events"
      onWheel={(event) => {
        if (event.deltaY < 0) onLeave();
      }}
      onKeyDown={(event) => {
        if (UPWARDS.has(event.key)) onLeave();
      }}
    >
      <div class="sizer" style={{ height: `${height}px` }}>
        <div class="window" style={{ transform: `translateY(${start}px)` }}>
          {items.map((item) => {
            const row = rows[item.index];
            return (
              row && (
                <div
                  key={row.key}
                  ref={virtualizer.measureElement}
                  class={`line ${row.kind}${isMatch(row) ? " match" : ""}`}
                  data-index={item.index}
                  data-row=""
                  data-key={row.key.replace("\n", "#")}
                  data-sequence={row.sequence}
                  {...callMarks(row)}
                >
                  <TailRow row={row} withSession={withSession} />
                </div>
              )
            );
          })}
        </div>
      </div>
    </section>
  );
}

function callMarks(row: Row): Record<string, string | number | undefined> {
  if (row.kind !== "call") return {};
  return {
    "data-call-id": row.call,
    "data-status": row.status,
    "data-duration-ms": row.duration,
  };
}
