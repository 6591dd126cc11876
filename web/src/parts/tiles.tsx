import type { ComponentChildren } from "preact";
import type { Schemas } from "../api/client";
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

interface TileProps {
  figure: string;
  label: string;
  value: number;
  beside: ComponentChildren;
  href: string;
  tone?: string | undefined;
  counts?: number[];
}

function Tile({ figure, label, value, beside, href, tone, counts }: TileProps) {
  return (
    <a class={`tile ${tone ?? ""}`} href={href}>
      <span class="label">{label}</span>
      <span class="figure">
        <strong data-figure={figure} data-value={value}>
          {value.toLocaleString("en")}
        </strong>{" "}
        <span class="muted">{beside}</span>
      </span>
      {counts && <Spark counts={counts} />}
    </a>
  );
}

export function Tiles({ data }: { data: Overview }) {
  const bounds = { from: data.from, to: data.to };
  const letters = data.dead_letters.reduce((sum, each) => sum + each.count, 0);
  const behind = data.lag.processors.reduce((sum, each) => sum + each.records, 0);
  const count = (...verdicts: string[]): number[] => addSeries(data.series, verdicts);
  return (
    <section class="tiles" aria-label="Figures">
      <Tile
        figure="commands"
        label="commands"
        value={data.commands}
        beside={rate(data)}
        href={address(["agents"])}
        counts={count("accepted", "duplicate", "rejected")}
      />
      <Tile
        figure="accepted"
        label="accepted"
        value={data.accepted}
        beside={share(data.accepted, data.commands)}
        href={address(["apc"], { tab: "packets" })}
        tone="good"
        counts={count("accepted")}
      />
      <Tile
        figure="duplicate"
        label="duplicate"
        value={data.duplicate}
        beside={share(data.duplicate, data.commands)}
        href={address(["verdicts"], { verdict: "duplicate", ...bounds })}
        tone="fair"
        counts={count("duplicate")}
      />
      <Tile
        figure="rejected"
        label="refused"
        value={data.rejected}
        beside={share(data.rejected, data.commands)}
        href={address(["verdicts"], { verdict: "rejected", ...bounds })}
        tone={data.rejected > 0 ? "bad" : undefined}
        counts={count("rejected")}
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
