import { api } from "../api/client";
import { useApi } from "../api/use_api";
import { writeCommand } from "../parts/command";
import { FilterBar } from "../parts/filters";
import { Page } from "../parts/page";
import { isStale, Loaded } from "../parts/states";
import { Tabs } from "../parts/tabs";
import { Decisions } from "../spread/decisions";
import { Effect } from "../spread/generations";
import { Lessons } from "../spread/lessons";
import { Protocols } from "../spread/protocols";
import { Throttling } from "../spread/throttling";
import { MOST, pick, type Words } from "../spread/words";
import { useUrl, writeQuery } from "../state/url";
import "../style/spread.css";

const FILTERS = [
  { name: "run_id", label: "run" },
  { name: "project_id", label: "project" },
  { name: "protocol_id", label: "protocol" },
];

/** How methods spread between swarms, and how well they did. */
export default function SpreadPage() {
  const { query } = useUrl();
  const words: Words = {
    run_id: query["run_id"],
    project_id: query["project_id"],
    protocol_id: query["protocol_id"],
  };
  const taught = pick(words, "run_id", "protocol_id");
  const path = `/v1/lineage/teaching${writeQuery(taught)}`;
  const teaching = useApi(path, (signal) =>
    api.GET("/v1/lineage/teaching", { params: { query: { limit: MOST, ...taught } }, signal }),
  );
  return (
    <Page
      name="spread"
      title="Spread"
      source={{ path, command: writeCommand("headrace apc lineage", FILTERS, words) }}
      stale={isStale(teaching)}
    >
      <FilterBar filters={FILTERS} problem={teaching.problem} withText={false} />
      <Tabs
        label="Spread"
        tabs={[
          {
            name: "teaching",
            label: "Who taught whom",
            render: () => (
              <Loaded query={teaching}>{({ items }) => <Lessons rows={items} />}</Loaded>
            ),
          },
          { name: "generations", label: "Generations", render: () => <Effect words={words} /> },
          { name: "arbitration", label: "Arbitration", render: () => <Decisions words={words} /> },
          { name: "throttling", label: "Throttling", render: () => <Throttling words={words} /> },
          { name: "protocols", label: "Protocols", render: () => <Protocols words={words} /> },
        ]}
      />
    </Page>
  );
}
