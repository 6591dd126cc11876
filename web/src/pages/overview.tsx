import { api, type Schemas } from "../api/client";
import { useOverview } from "../api/overview";
import { useApi } from "../api/use_api";
import { Attention } from "../parts/attention";
import { Bars } from "../parts/bars";
import { Verdict } from "../parts/chip";
import { quote } from "../parts/copy";
import { NodeLink } from "../parts/link";
import { OpenWork } from "../parts/open_work";
import { Page } from "../parts/page";
import { Empty, isStale, Loaded } from "../parts/states";
import { Text } from "../parts/text";
import { Tiles } from "../parts/tiles";
import { Time } from "../parts/time";
import { address, useUrl } from "../state/url";

type Overview = Schemas["Overview"];

const WINDOWS = ["15m", "1h", "6h", "24h", "7d"] as const;

export default function OverviewPage() {
  const { query, change } = useUrl();
  const window = query["window"] ?? "15m";
  const overview = useOverview(window);
  const choice = (
    <select
      aria-label="Window"
      value={window}
      onChange={(event) => change({ window: event.currentTarget.value })}
    >
      {WINDOWS.map((each) => (
        <option key={each} value={each}>
          last {each}
        </option>
      ))}
    </select>
  );
  return (
    <Page
      name="overview"
      title="Overview"
      beside={choice}
      stale={isStale(overview)}
      source={{
        path: `/v1/overview?window=${window}`,
        command: `headrace overview --window ${quote(window)}`,
      }}
    >
      <Loaded query={overview}>{(data) => <Content data={data} window={window} />}</Loaded>
    </Page>
  );
}

function Content({ data, window }: { data: Overview; window: string }) {
  const refused = data.rules.filter((each) => each.verdict === "rejected").slice(0, 10);
  const bounds = { from: data.from, to: data.to };
  return (
    <>
      <Tiles data={data} />
      {data.commands === 0 && data.open.length === 0 && <FirstPacket />}
      <div class="cards">
        <div class="stack">
          <section class="card">
            <h2>Refused by rule</h2>
            <Bars
              rows={refused.map((each) => ({
                key: `${each.topic} ${each.rule}`,
                label: each.rule,
                detail: each.protocol,
                value: each.count,
                href: address(["verdicts"], {
                  protocol: each.protocol,
                  rule: each.rule,
                  verdict: "rejected",
                  ...bounds,
                }),
              }))}
            />
          </section>
          <Newest />
        </div>
        <div class="stack">
          <section class="card">
            <h2>Open work</h2>
            <OpenWork rows={data.open} />
            <h2>Constitutional cache</h2>
            <Cache cache={data.cache} />
          </section>
          <section class="card">
            <h2>Needs attention</h2>
            <Attention data={data} window={window} />
          </section>
        </div>
      </div>
    </>
  );
}

function FirstPacket() {
  return (
    <Empty>
      Nothing was sent in this window. <code>headrace send apc.packets FILE</code> sends a packet,
      and <code>headrace demo</code> sends a whole fleet's.
    </Empty>
  );
}

function Cache({ cache }: { cache: Overview["cache"] }) {
  const rate = cache.hit_rate === null ? "" : `, ${Math.round(100 * cache.hit_rate)} %`;
  return (
    <dl class="facts">
      <dt>hits</dt>
      <dd data-figure="cache_hit_rate" data-value={cache.hit_rate ?? ""}>
        <a href={address(["sap"], { tab: "cache" })}>
          {cache.hits} of {cache.lookups}
          {rate}
        </a>
      </dd>
      <dt>stored</dt>
      <dd>{cache.stored}</dd>
      <dt>refused writes</dt>
      <dd>{cache.refused_writes}</dd>
    </dl>
  );
}

function Newest() {
  const verdicts = useApi("/v1/verdicts?limit=10&verdict=rejected", (signal) =>
    api.GET("/v1/verdicts", { params: { query: { limit: 10, verdict: "rejected" } }, signal }),
  );
  return (
    <section class="card">
      <h2>
        <a href={address(["verdicts"], { verdict: "rejected" })}>Newest refusals</a>
      </h2>
      <Loaded query={verdicts}>
        {(data) =>
          data.items.length === 0 ? (
            <Empty>Nothing was refused.</Empty>
          ) : (
            <ul class="lines">
              {data.items.map((row) => (
                <li key={row.fact}>
                  <Time at={row.at} /> <span class="muted">{row.protocol}</span>{" "}
                  <Verdict verdict={row.verdict} rule={row.rule} />{" "}
                  <NodeLink node={row.node} label={row.title} />
                  <div class="reason">
                    <Text value={row.message ?? ""} />
                  </div>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  );
}
