import type { Parameters } from "../state/url";
import { quote } from "./copy";
import { ARGUMENT, type Filter, OPTIONAL_ARGUMENT } from "./filters";

/**
 * Write the command that prints what a page with filters shows.
 *
 * Undefined where there is none: it lacks a filter that is set, or needs one that is not.
 */
export function writeCommand(
  command: string | null,
  filters: readonly Filter[],
  query: Parameters,
): string | undefined {
  const words = [command];
  for (const { name, option = `--${name.replaceAll("_", "-")}` } of filters) {
    const value = query[name];
    if (!value && option !== ARGUMENT) continue;
    if (!value || option === null) return undefined;
    const isArgument = option === ARGUMENT || option === OPTIONAL_ARGUMENT;
    words.push(...(isArgument ? [] : [option]), quote(value));
  }
  return command === null ? undefined : words.join(" ");
}
