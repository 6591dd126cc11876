import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
} from "@tanstack/virtual-core";
import type { ComponentChildren, TargetedMouseEvent } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Column<T> {
  label: string;
  cell: (row: T) => ComponentChildren;
  /** Numbers stand at the right. */
  number?: boolean;
  /** The column that takes what width is left. */
  wide?: boolean;
}

interface Props<T> {
  label: string;
  rows: readonly T[];
  rowKey: (row: T) => string;
  columns: readonly Column<T>[];
  onEnd?: () => void;
  /** How many rows there are; -1 if more may follow. */
  total?: number;
  marks?: (row: T) => Record<string, string | undefined>;
}

const ROW_HEIGHT = 33;
const OVERSCAN = 12;
const NEAR_END = 20;

function useVirtualRows(count: number) {
  const scroller = useRef<HTMLDivElement>(null);
  const [, redraw] = useState(0);
  const options = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: OVERSCAN,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => redraw((each) => each + 1),
  };
  const [virtualizer] = useState(() => new Virtualizer<HTMLDivElement, Element>(options));
  virtualizer.setOptions({ ...virtualizer.options, ...options });
  useEffect(() => virtualizer._didMount(), [virtualizer]);
  useLayoutEffect(() => virtualizer._willUpdate());
  return { scroller, virtualizer };
}

/** A table that draws the rows in view alone. */
export function Table<T>(props: Props<T>) {
  const { label, rows, rowKey, columns, onEnd, total, marks } = props;
  const { scroller, virtualizer } = useVirtualRows(rows.length);
  const items = virtualizer.getVirtualItems();
  const first = items[0];
  const last = items[items.length - 1];
  const isNearEnd = last !== undefined && last.index >= rows.length - NEAR_END;
  useEffect(() => {
    if (isNearEnd) onEnd?.();
  }, [isNearEnd, rows.length, onEnd]);
  const after = last ? virtualizer.getTotalSize() - last.end : 0;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls is reached by keyboard
    <section class="scroller" ref={scroller} tabIndex={0} aria-label={label}>
      <table aria-rowcount={total === undefined ? rows.length + 1 : total}>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <th key={column.label} scope="col" class={columnClass(column)}>
                {column.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <Spacer height={first?.start ?? 0} />
          {items.map((item) => {
            const row = rows[item.index];
            if (row === undefined) return null;
            return (
              <tr
                key={rowKey(row)}
                data-row=""
                data-key={rowKey(row)}
                aria-rowindex={item.index + 2}
                {...marks?.(row)}
              >
                {columns.map((column) => (
                  <td key={column.label} class={columnClass(column)} onMouseEnter={nameWhole}>
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
            );
          })}
          <Spacer height={after} />
        </tbody>
      </table>
    </section>
  );
}

/** Show all of a cell that is cut under the pointer. */
function nameWhole({ currentTarget: cell }: TargetedMouseEvent<HTMLTableCellElement>): void {
  if (cell.scrollWidth > cell.clientWidth) cell.title = cell.textContent;
  else cell.removeAttribute("title");
}

function columnClass<T>(column: Column<T>): string | undefined {
  return column.number ? "number" : column.wide ? "wide" : undefined;
}

function Spacer({ height }: { height: number }) {
  if (height <= 0) return null;
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a row takes no focus
    <tr aria-hidden="true" class="spacer">
      <td style={{ height: `${height}px` }} />
    </tr>
  );
}
