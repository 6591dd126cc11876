import type { ComponentChildren } from "preact";
import type { Schemas } from "../api/client";
import { WINDOWED_LISTS } from "../protocols/kinds";
import { type ProtocolName, TITLES } from "../protocols/names";
import { address } from "../state/url";
import { Spark } from "./spark";
import { Text } from "./text";

type Overview = Schemas["Overview"];
type Series = Overview["series"][number];

/** Add the counts of the series of some verdicts, step by step. */
export function addSeries(series: readonly Series[], verdicts: readonly string[]): number[] {
  const rows = series.filter((each) => verdicts.includes(each.verdict));
  const length = Math.max(0, ...series.map((each) => each.counts.length));
  return Array.from({ length }, (_, step) =>
    rows.reduce((sum, each) => sum + (each.counts[step] ?? 0), 0),
  );
}

/** A share of a whole, in per cent. */
export function share(part: number, whole: number): string {
  if (whole === 0) return "";
  const percent = (100 * part) / whole;
  return `${percent < 10 ? percent.toFixed(1) : Math.round(percent)} %`;
}

/** Commands in a second. */
export function rate(data: Overview): string {
  const seconds = (Date.parse(data.to) - Date.parse(data.from)) / 1000;
  return seconds <= 0 ? "" : `${(data.commands / seconds).toFixed(1)}/s`;
}

/** Count verdicts by protocol, the most first; protocols without any are left out. */
export function countProtocols(
  series: readonly Series[],
  verdicts: readonly string[],
): { protocol: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const each of series) {
    if (!verdicts.includes(each.verdict)) continue;
    const count = each.counts.reduce((sum, step) => sum + step, 0);
    counts.set(each.protocol, (counts.get(each.protocol) ?? 0) + count);
  }
  return [...counts]
    .map(([protocol, count]) => ({ protocol, count }))
    .filter((each) => each.count > 0)
    .sort((one, other) => other.count - one.count);
}

type Bounds = Pick<Overview, "from" | "to">;

/** The address of the list of what a protocol accepted in a window, if there is one. */
export function acceptedAddress(protocol: string, bounds: Bounds): string | undefined {
  const list = WINDOWED_LISTS[protocol];
  return list && address([protocol], { ...list, ...bounds });
}

const verdictsAddress = (verdict: string, bounds: Bounds, protocol?: string): string =>
  address(["verdicts"], { protocol, verdict, ...bounds });

const sendersAddress = ({ from }: Bounds, protocol?: string): string =>
  address(["agents"], { protocol, from });

interface TileProps {
  figure: string;
  label: string;
  value: number;
  beside: ComponentChildren;
  href: string;
  tone?: string | undefined;
  counts?: number[];
  parts?: readonly { protocol: string; count: number }[];
  /** Where the count of a protocol leads. */
  partHref?: (protocol: string) => string | undefined;
}

function Tile({ figure, label, value, beside, href, tone, counts, parts, partHref }: TileProps) {
  return (
    <div class={`tile ${tone ?? ""}`}>
      <a class="whole" href={href}>
        <span class="label">{label}</span>
        <span class="figure">
          <strong data-figure={figure} data-value={value}>
            {value.toLocaleString("en")}
          </strong>{" "}
          <span class="muted">{beside}</span>
        </span>
      </a>
      {parts && parts.length > 0 && (
        <ul class="by-protocol" aria-label={`${label} by protocol`}>
          {parts.map(({ protocol, count }) => (
            <li key={protocol} data-protocol={protocol} data-value={count}>
              <Part href={partHref?.(protocol)}>
                {TITLES[protocol as ProtocolName] ?? protocol} {count.toLocaleString("en")}
              </Part>
            </li>
          ))}
        </ul>
      )}
      {counts && <Spark counts={counts} />}
    </div>
  );
}

function Part({ href, children }: { href: string | undefined; children: ComponentChildren }) {
  return href === undefined ? <span>{children}</span> : <a href={href}>{children}</a>;
}

export function Tiles({ data }: { data: Overview }) {
  const bounds = { from: data.from, to: data.to };
  const letters = data.dead_letters.reduce((sum, each) => sum + each.count, 0);
  const behind = data.lag.processors.reduce((sum, each) => sum + each.records, 0);
  const count = (...verdicts: string[]): number[] => addSeries(data.series, verdicts);
  const by = (...verdicts: string[]) => countProtocols(data.series, verdicts);
  const accepted = by("accepted");
  const most = accepted.map((each) => acceptedAddress(each.protocol, bounds)).find(Boolean);
  return (
    <section class="tiles" aria-label="Figures">
      <Tile
        figure="commands"
        label="commands"
        value={data.commands}
        beside={rate(data)}
        href={sendersAddress(bounds)}
        counts={count("accepted", "duplicate", "rejected")}
        parts={by("accepted", "duplicate", "rejected")}
        partHref={(protocol) => sendersAddress(bounds, protocol)}
      />
      <Tile
        figure="accepted"
        label="accepted"
        value={data.accepted}
        beside={share(data.accepted, data.commands)}
        href={most ?? acceptedAddress("apc", bounds) ?? ""}
        tone="good"
        counts={count("accepted")}
        parts={accepted}
        partHref={(protocol) => acceptedAddress(protocol, bounds)}
      />
      <Tile
        figure="duplicate"
        label="duplicate"
        value={data.duplicate}
        beside={share(data.duplicate, data.commands)}
        href={verdictsAddress("duplicate", bounds)}
        tone="fair"
        counts={count("duplicate")}
        parts={by("duplicate")}
        partHref={(protocol) => verdictsAddress("duplicate", bounds, protocol)}
      />
      <Tile
        figure="rejected"
        label="refused"
        value={data.rejected}
        beside={share(data.rejected, data.commands)}
        href={verdictsAddress("rejected", bounds)}
        tone={data.rejected > 0 ? "bad" : undefined}
        counts={count("rejected")}
        parts={by("rejected")}
        partHref={(protocol) => verdictsAddress("rejected", bounds, protocol)}
      />
      <Tile
        figure="dead_letters"
        label="dead letters"
        value={letters}
        beside={<Text value={data.dead_letters.map((each) => each.topic).join(", ")} code />}
        href={address(["dead-letters"])}
        tone={letters > 0 ? "bad" : undefined}
      />
      <Tile
        figure="view_lag"
        label="view lag"
        value={data.lag.view}
        beside={`processors ${behind.toLocaleString("en")} behind`}
        href={address(["log"])}
      />
    </section>
  );
}
