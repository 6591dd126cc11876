import type { ComponentChildren } from "preact";
import { State } from "../parts/chip";
import { NodeLink, PositionLink } from "../parts/link";
import type { Column } from "../parts/table";
import { Text } from "../parts/text";
import { Time } from "../parts/time";

/** The filters of lists that have a window of time. */
export const WINDOW = [
  { name: "from", label: "from" },
  { name: "to", label: "to" },
] as const;

/** The columns that lists of all protocols have. */
export function timeColumn<T>(
  label: string,
  read: (row: T) => string | null | undefined,
): Column<T> {
  return { label, cell: (row) => <Time at={read(row)} /> };
}

export function stateColumn<T>(label: string, read: (row: T) => string | null): Column<T> {
  return { label, cell: (row) => <State value={read(row)} /> };
}

export function textColumn<T>(
  label: string,
  read: (row: T) => string | null | undefined,
  wide = false,
): Column<T> {
  return { label, wide, cell: (row) => <Text value={read(row) || "–"} code /> };
}

export function countColumn<T>(label: string, read: (row: T) => number | null): Column<T> {
  return { label, number: true, cell: (row) => read(row)?.toLocaleString("en") ?? "–" };
}

/** A column that leads to a thing. */
export function nodeColumn<T>(
  label: string,
  read: (row: T) => { node: string; label?: string },
  wide = false,
): Column<T> {
  return { label, wide, cell: (row) => <NodeLink {...read(row)} /> };
}

export function positionColumn<T>(label: string, read: (row: T) => string | null): Column<T> {
  return { label, cell: (row) => <PositionLink position={read(row)} /> };
}

export function column<T>(
  label: string,
  cell: (row: T) => ComponentChildren,
  wide = false,
): Column<T> {
  return { label, cell, wide };
}

/** Escape an id as a part of a lineage node. */
export function nodePart(id: string): string {
  return id.replaceAll("%", "%25").replaceAll("/", "%2F");
}

/** Write counts by name, as `RUNNING 2, DONE 5`. */
export function writeCounts(by: Readonly<Record<string, number>>): string {
  return Object.entries(by)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");
}

/** An amount to nine places, without an exponent or zeros at the end. */
export function writeDollars(usd: number | string | undefined): string {
  if (usd === undefined) return "–";
  const digits = Number(usd).toFixed(9);
  return `$${digits.replace(/\.?0+$/, "")}`;
}

/** Write the node of a playbook. */
export function playbookNode(row: {
  capability: string;
  territory: string | null;
  fingerprint: string;
}): string {
  return `sap:playbook:${[row.capability, row.territory ?? "", row.fingerprint].map(nodePart).join("/")}`;
}
