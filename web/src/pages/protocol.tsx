import { Page } from "../parts/page";
import { Tabs } from "../parts/tabs";
import { LISTS } from "../protocols";
import { type ProtocolName, TITLES } from "../protocols/names";
import { routeParameters, useUrl } from "../state/url";

/** The lists of one protocol, a tab for each. */
export default function Protocol({ protocol }: { protocol: ProtocolName }) {
  const { query } = useUrl();
  const lists = LISTS[protocol];
  const current = lists.find((each) => each.tab === query["tab"]) ?? lists[0];
  return (
    <Page
      name={protocol}
      title={TITLES[protocol]}
      {...(current && {
        source: {
          path: current.path(routeParameters(query)),
          command: current.command(query),
        },
      })}
    >
      <Tabs
        key={protocol}
        label={`Lists of ${TITLES[protocol]}`}
        tabs={lists.map((each) => ({ name: each.tab, label: each.label, render: each.render }))}
        clear={() => Object.fromEntries(Object.keys(query).map((each) => [each, undefined]))}
      />
    </Page>
  );
}
