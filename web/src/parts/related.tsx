import type { Schemas } from "../api/client";
import { address } from "../state/url";
import { NodeLink } from "./link";
import { Empty } from "./states";

type Thing = Schemas["Thing"];
type Link = Thing["links"][number];

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
export function Related({ thing }: { thing: Thing }) {
  if (thing.links.length === 0) return <Empty>Nothing is linked to it.</Empty>;
  return (
    <>
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
      <p>
        <a href={address(["lineage"], { node: thing.node })}>The whole lineage</a>
        {thing.trace && (
          <>
            {", "}
            <a href={address(["traces", thing.trace])}>the whole trace</a>
          </>
        )}
      </p>
    </>
  );
}
