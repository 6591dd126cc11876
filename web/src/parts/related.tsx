import { api, type Schemas } from "../api/client";
import { useApi } from "../api/use_api";
import { address } from "../state/url";
import { State } from "./chip";
import { NodeLink } from "./link";
import { Empty, Loaded } from "./states";

type Thing = Schemas["Thing"];
type Link = Thing["links"][number];

/** How many things of a trace are listed here. */
const MOST = 30;

/** Group links by direction and relation, in the order in which they come. */
export function groupLinks(links: readonly Link[]): Map<string, Link[]> {
  const groups = new Map<string, Link[]>();
  for (const link of links) {
    const name = `${link.direction === "out" ? "came of" : "led to"}: ${link.relation}`;
    groups.set(name, [...(groups.get(name) ?? []), link]);
  }
  return groups;
}

/** The lineage links of a thing, by relation. */
export function Related({ thing, asOf }: { thing: Thing; asOf: string | undefined }) {
  return (
    <>
      {thing.links.length === 0 && <Empty>Nothing is linked to it.</Empty>}
      {[...groupLinks(thing.links)].map(([name, links]) => (
        <section key={name}>
          <h2>{name}</h2>
          <ul class="lines">
            {links.map((each) => (
              <li key={each.node}>
                <NodeLink node={each.node} />
              </li>
            ))}
          </ul>
        </section>
      ))}
      {thing.links.length > 0 && (
        <p>
          <a href={address(["lineage"], { node: thing.node })}>The whole lineage</a>
        </p>
      )}
      {thing.trace && <RestOfTrace node={thing.node} trace={thing.trace} asOf={asOf} />}
    </>
  );
}

interface RestProps {
  node: string;
  trace: string;
  asOf: string | undefined;
}

/** The other things of a trace, over all protocols. */
function RestOfTrace({ node, trace, asOf }: RestProps) {
  const query = asOf === undefined ? {} : { as_of: asOf };
  const things = useApi(`trace ${trace} ${asOf}`, (signal) =>
    api.GET("/v1/traces/{trace_id}", { params: { path: { trace_id: trace }, query }, signal }),
  );
  return (
    <section>
      <h2>The rest of its trace</h2>
      <Loaded query={things}>
        {({ items }) => {
          const others = items.filter((each) => each.node !== node);
          if (others.length === 0) return <Empty>Nothing else came of its trace.</Empty>;
          return (
            <ul class="lines">
              {others.slice(0, MOST).map((each) => (
                <li key={each.node}>
                  <span class="muted">{each.protocol}</span>{" "}
                  <NodeLink node={each.node} label={each.title} /> <State value={each.state} />
                </li>
              ))}
            </ul>
          );
        }}
      </Loaded>
      <p>
        <a href={address(["traces", trace], query)}>The whole trace</a>
      </p>
    </section>
  );
}
