import { api, type Schemas } from "../api/client";
import { useApi } from "../api/use_api";
import { PROTOCOLS, TITLES } from "../protocols/names";
import { address } from "../state/url";
import { Empty, Loaded } from "./states";
import { Text } from "./text";

type Row = Schemas["AgentPage"]["items"][number];

/** Group the rows of agents by agent, in the order of the rows. */
export function groupAgents(rows: readonly Row[]): Map<string, Map<string, Row>> {
  const agents = new Map<string, Map<string, Row>>();
  for (const row of rows) {
    const protocols = agents.get(row.agent) ?? new Map<string, Row>();
    protocols.set(row.protocol, row);
    agents.set(row.agent, protocols);
  }
  return agents;
}

/** Which agent sends in which protocol: the latest 1,000 rows. */
export function AgentMap() {
  const query = useApi("/v1/agents?limit=1000", (signal) =>
    api.GET("/v1/agents", { params: { query: { limit: 1000 } }, signal }),
  );
  return (
    <Loaded query={query}>
      {(data) =>
        data.items.length === 0 ? (
          <Empty>No agent has sent anything yet.</Empty>
        ) : (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls
          <section class="scroller" tabIndex={0} aria-label="Agents and protocols">
            <table>
              <thead>
                <tr>
                  <th scope="col">agent</th>
                  {PROTOCOLS.map((each) => (
                    <th scope="col" class="number" key={each}>
                      {TITLES[each]}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {[...groupAgents(data.items)].map(([agent, protocols]) => (
                  <tr key={agent}>
                    <th scope="row">
                      <Text value={agent} code />
                    </th>
                    {PROTOCOLS.map((each) => (
                      <td class="number" key={each}>
                        <Cell row={protocols.get(each)} />
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </section>
        )
      }
    </Loaded>
  );
}

function Cell({ row }: { row: Row | undefined }) {
  if (!row) return <span class="none">–</span>;
  const all = row.accepted + row.duplicate + row.rejected;
  return (
    <>
      {all.toLocaleString("en")}
      {row.rejected > 0 && (
        <>
          {" "}
          <a
            class="refused"
            href={address(["verdicts"], {
              agent: row.agent,
              protocol: row.protocol,
              verdict: "rejected",
            })}
          >
            {row.rejected.toLocaleString("en")} refused
          </a>
        </>
      )}
    </>
  );
}
