import type { ComponentChildren } from "preact";
import { List, type ListSpec } from "../parts/list";

/** A list of a protocol, whatever its rows are. */
export interface ProtocolList {
  tab: string;
  label: string;
  path: string;
  command: string;
  render: () => ComponentChildren;
}

/** Make a tab of a list that is written as data. */
export function defineList<T>(spec: ListSpec<T>): ProtocolList {
  const { tab, label, path, command } = spec;
  return { tab, label, path, command, render: () => <List spec={spec} key={tab} /> };
}
