import { api, type Schemas } from "../api/client";
import { useApi } from "../api/use_api";
import { writeSpan } from "../state/clock";
import { address, thingAddress } from "../state/url";
import { Text } from "./text";

type Overview = Schemas["Overview"];
type Audit = Schemas["Audit"];

export interface Matter {
  key: string;
  text: string;
  href: string;
}

/** How often what changes slowly is asked for. */
const SLOWLY_MS = 10_000;
const MOST_RECORDS = 1000;
const MOST_SECONDS = 30;
const HOUR = "1h";

const plural = (count: number, word: string): string =>
  `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

/** List what an operator should look at.  A fixed list: letters, decay, escalations, lag, audit.

escalations: those of the last hour, whatever the window. */
export function listMatters(
  data: Overview,
  escalations: number,
  audit: Audit | undefined,
): Matter[] {
  const letters = data.dead_letters
    .filter((each) => each.count > 0)
    .map((each) => ({
      key: `letters ${each.topic}`,
      text: `${plural(each.count, "open dead letter")} in ${each.topic}`,
      href: address(["dead-letters"], { topic: each.topic }),
    }));
  const decayed = data.decayed.map((each) => ({
    key: `decayed ${each}`,
    text: `protocol ${each} decayed`,
    href: thingAddress(`apc:protocol:${each}`),
  }));
  const raised =
    escalations === 0
      ? []
      : [
          {
            key: "escalations",
            text: `${plural(escalations, "escalation")} in the last hour`,
            href: address(["saop"], { tab: "escalations" }),
          },
        ];
  const behind = data.lag.processors
    .filter((each) => each.records > MOST_RECORDS || (each.oldest_s ?? 0) > MOST_SECONDS)
    .map((each) => ({
      key: `behind ${each.name}`,
      text: `processor ${each.name} is ${plural(each.records, "record")} behind`,
      href: address(["log"]),
    }));
  const unsealed = listUnsealed(audit, Date.parse(data.to));
  return [...letters, ...decayed, ...raised, ...behind, ...unsealed];
}

/** Facts that no checkpoint covers, where checkpoints are written. */
function listUnsealed(audit: Audit | undefined, time: number): Matter[] {
  const written = audit?.partitions.filter((each) => each.sealed_at !== null) ?? [];
  const count = written.reduce((sum, each) => sum + each.unsealed, 0);
  if (count === 0) return [];
  const since = Math.min(...written.map((each) => Date.parse(each.sealed_at ?? "")));
  const text = `${plural(count, "fact")} not sealed for ${writeSpan(Math.max(0, time - since))}`;
  return [{ key: "unsealed", text, href: address(["audit"]) }];
}

/** What needs attention.  window: that of the figures. */
export function Attention({ data, window }: { data: Overview; window: string }) {
  const audit = useApi("/v1/audit", (signal) => api.GET("/v1/audit", { signal }), SLOWLY_MS);
  const isHour = window === HOUR;
  const hour = useApi(
    isHour ? null : `/v1/overview?window=${HOUR}`,
    (signal) => api.GET("/v1/overview", { params: { query: { window: HOUR } }, signal }),
    SLOWLY_MS,
  );
  const { escalations = 0 } = (isHour ? data : hour.data) ?? {};
  const matters = listMatters(data, escalations, audit.data);
  return (
    <ul class="lines matters" data-figure="decayed" data-value={data.decayed.length}>
      {matters.length === 0 && <li class="empty">Nothing.</li>}
      {matters.map((each) => (
        <li key={each.key}>
          <a href={each.href}>
            <Text value={each.text} />
          </a>
        </li>
      ))}
    </ul>
  );
}
