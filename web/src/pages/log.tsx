import { api, type Schemas } from "../api/client";
import { useApi } from "../api/use_api";
import { Page } from "../parts/page";
import { RecordsOf } from "../parts/records";
import { isStale, Loaded } from "../parts/states";
import { Tabs } from "../parts/tabs";
import { Text } from "../parts/text";
import { Time } from "../parts/time";
import { address, useUrl } from "../state/url";

type Log = Schemas["LogOffsets"];

export default function LogPage() {
  const { query } = useUrl();
  const log = useApi("/v1/log", (signal) => api.GET("/v1/log", { signal }));
  const topic = query["topic"];
  return (
    <Page
      name="log"
      title={topic ? `Log: ${topic}` : "Log"}
      stale={isStale(log)}
      source={{ path: "/v1/log", command: "headrace topics list" }}
    >
      {topic ? (
        <RecordsOf topic={topic} partition={query["partition"] ?? "0"} from={query["from"]} />
      ) : (
        <Loaded query={log}>
          {(data) => (
            <Tabs
              label="Log"
              tabs={[
                { name: "topics", label: "Topics", render: () => <Topics log={data} /> },
                {
                  name: "processors",
                  label: "Processors",
                  render: () => <Processors log={data} />,
                },
                { name: "view", label: "View", render: () => <View view={data.view} /> },
              ]}
            />
          )}
        </Loaded>
      )}
    </Page>
  );
}

function Topics({ log }: { log: Log }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls
    <section class="scroller" tabIndex={0} aria-label="Topics">
      <table>
        <thead>
          <tr>
            <th scope="col">topic</th>
            <th scope="col">kind</th>
            <th scope="col" class="number">
              records
            </th>
            <th scope="col" class="wide">
              partitions: ends
            </th>
          </tr>
        </thead>
        <tbody>
          {log.topics.map((topic) => (
            <tr key={topic.name} data-row="" data-key={topic.name}>
              <th scope="row">
                <Text value={topic.name} code />
              </th>
              <td>{topic.kind}</td>
              <td class="number">
                {topic.partitions
                  .reduce((sum, each) => sum + each.end - each.start, 0)
                  .toLocaleString("en")}
              </td>
              <td class="wide ends">
                {topic.partitions.map((each) =>
                  topic.readable ? (
                    <a
                      key={each.partition}
                      href={address(["log"], {
                        topic: topic.name,
                        partition: String(each.partition),
                      })}
                    >
                      {each.partition}: {each.end.toLocaleString("en")}
                    </a>
                  ) : (
                    <span key={each.partition}>
                      {each.partition}: {each.end.toLocaleString("en")}
                    </span>
                  ),
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Processors({ log }: { log: Log }) {
  const rows = log.processors.flatMap((processor) =>
    processor.partitions.map((each) => ({ ...each, name: processor.name })),
  );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls
    <section class="scroller" tabIndex={0} aria-label="Processors">
      <table>
        <thead>
          <tr>
            <th scope="col">processor</th>
            <th scope="col">partition</th>
            <th scope="col" class="number">
              committed
            </th>
            <th scope="col" class="number">
              end
            </th>
            <th scope="col" class="number">
              lag
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={`${row.name} ${row.topic} ${row.partition}`}>
              <th scope="row">{row.name}</th>
              <td>
                {row.topic}/{row.partition}
              </td>
              <td class="number">{row.committed?.toLocaleString("en") ?? "–"}</td>
              <td class="number">{row.end.toLocaleString("en")}</td>
              <td class={row.lag ? "number refused" : "number"}>
                {row.lag?.toLocaleString("en") ?? "–"}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function View({ view }: { view: Log["view"] }) {
  return (
    <dl class="facts">
      <dt>state</dt>
      <dd>{view.state}</dd>
      <dt>lag</dt>
      <dd data-figure="view_lag" data-value={view.lag}>
        {view.lag.toLocaleString("en")} records
      </dd>
      <dt>applied</dt>
      <dd>{view.applied.toLocaleString("en")} records</dd>
      <dt>since</dt>
      <dd>
        <Time at={view.since} />
      </dd>
      {view.reason && (
        <>
          <dt>reason</dt>
          <dd>
            <Text value={view.reason} />
          </dd>
        </>
      )}
    </dl>
  );
}
