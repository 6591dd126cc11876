import { api, type Schemas } from "../api/client";
import { useApi } from "../api/use_api";
import { Loaded } from "./states";
import { Id } from "./text";

type Version = Pick<
  Schemas["SapCacheVersion"],
  "version" | "previousSha256" | "recordSha256" | "verified"
>;

export interface ChainLink {
  version: Version;
  /** Whether it names the record before it; null for one that has none before it here. */
  holds: boolean | null;
}

/** Compare each version of a key with the record of the one before it. */
export function checkChain(versions: readonly Version[]): ChainLink[] {
  const sorted = versions.toSorted((a, b) => a.version - b.version);
  return sorted.map((version, index) => {
    const before = sorted[index - 1];
    return { version, holds: before ? version.previousSha256 === before.recordSha256 : null };
  });
}

/** The key of a node `sap:cache:<key>/<version>`. */
export function cacheKeyOf(node: string): string {
  return node.slice("sap:cache:".length, node.lastIndexOf("/"));
}

const word = (holds: boolean | null): string =>
  holds === null ? "– the first" : holds ? "✔ follows" : "✖ does not follow";

/** All versions of a cached key up to a point as a chain. */
export function CacheChain({ node, asOf }: { node: string; asOf: string | undefined }) {
  const cacheKey = cacheKeyOf(node);
  const versions = useApi(`versions ${cacheKey} ${asOf}`, (signal) =>
    api.GET("/v1/sap/cache/{cacheKey}/versions", {
      params: { path: { cacheKey }, query: asOf === undefined ? {} : { as_of: asOf } },
      signal,
    }),
  );
  return (
    <section class="card why" aria-label="Versions">
      <h2>Versions</h2>
      <Loaded query={versions}>
        {(data) => (
          <table class="checks">
            <thead>
              <tr>
                <th scope="col">version</th>
                <th scope="col">previousSha256</th>
                <th scope="col">recordSha256</th>
                <th scope="col">chain</th>
                <th scope="col">gateway</th>
              </tr>
            </thead>
            <tbody>
              {checkChain(data.versions).map(({ version, holds }) => (
                <tr key={version.version} class={holds === false ? "refused" : undefined}>
                  <th scope="row">{version.version}</th>
                  <td>
                    <Id value={version.previousSha256} length={20} />
                  </td>
                  <td>
                    <Id value={version.recordSha256} length={20} />
                  </td>
                  <td>{word(holds)}</td>
                  <td>{version.verified ? "✔ verified" : "✖ not verified"}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Loaded>
    </section>
  );
}
