import { api, queryOf, type Schemas } from "../api/client";
import { useLatestData } from "../api/latest";
import { useApi } from "../api/use_api";
import { AsOf } from "../parts/as_of";
import { CacheChain } from "../parts/cache_chain";
import { State } from "../parts/chip";
import { writeCommand } from "../parts/command";
import { Compare } from "../parts/compare";
import { Envelope, firstRecord } from "../parts/envelope";
import { ARGUMENT } from "../parts/filters";
import { NodeLink } from "../parts/link";
import { MachineTab } from "../parts/machine";
import { OperatorActions } from "../parts/operator_actions";
import { Page } from "../parts/page";
import { Panel } from "../parts/panel";
import { ProofBadges } from "../parts/proof";
import { Related } from "../parts/related";
import { isStale, Loaded } from "../parts/states";
import { Tabs } from "../parts/tabs";
import { Text } from "../parts/text";
import { Time } from "../parts/time";
import { Timeline } from "../parts/timeline";
import { Why } from "../parts/why";
import { WhatIf } from "../protocols/apc_what_if";
import { address, recordAddress, routeParameters, useUrl, writeQuery } from "../state/url";

type Thing = Schemas["Thing"];

/** What the address of a thing has, and its command takes. */
const WORDS = [
  { name: "node", label: "node", option: ARGUMENT },
  { name: "session_id", label: "session", option: "--session" },
  { name: "as_of", label: "as of", option: "--as-of" },
];

/** One thing of any protocol, by its lineage node. */
export default function ThingPage({ node }: { node: string }) {
  const { query } = useUrl();
  const parameters = routeParameters(query);
  const search = writeQuery(parameters);
  const path = `/v1/things/${encodeURIComponent(node)}`;
  const load = (words: Record<string, string>) => (signal: AbortSignal) =>
    api.GET("/v1/things/{node}", {
      params: { path: { node }, query: queryOf<"/v1/things/{node}">(words) },
      signal,
    });
  const thing = useApi(path + search, load(parameters));
  const { as_of: asOf, ...present } = parameters;
  const shown = useLatestData(thing, node);
  const whole = useApi(asOf ? `${path}${writeQuery(present)} whole` : null, load(present));
  const past = useLatestData(asOf ? whole : thing, `${node} whole`);
  return (
    <Page
      name="thing"
      title={shown.data?.title ?? node}
      asOf={thing.data && asOf}
      stale={isStale(thing)}
      beside={shown.data?.state && <State value={shown.data.state} />}
      source={{
        path: path + search,
        command: writeCommand("headrace show", WORDS, { ...query, node }),
      }}
    >
      {asOf && thing.problem && !shown.data && (
        <AsOf kind={past.data?.kind ?? ""} steps={past.data?.steps ?? []} asOf={asOf} />
      )}
      <Loaded query={shown}>
        {(data) => <Content thing={data} steps={(past.data ?? data).steps} asOf={asOf} />}
      </Loaded>
    </Page>
  );
}

interface ContentProps {
  thing: Thing;
  /** All steps, also those after the point that is shown. */
  steps: Thing["steps"];
  asOf: string | undefined;
}

function Content({ thing, steps, asOf }: ContentProps) {
  const fact = thing.verdicts.find((each) => each.fact !== null)?.fact ?? lastFact(thing);
  return (
    <>
      <Facts thing={thing} />
      {fact && <ProofBadges position={fact} key={fact} />}
      <Panel thing={thing} asOf={asOf} />
      {asOf === undefined && <OperatorActions thing={thing} key={thing.node} />}
      <AsOf kind={thing.kind} steps={steps} asOf={asOf} />
      <Compare thing={thing} steps={steps} />
      {thing.kind === "sap:cache" && <CacheChain node={thing.node} asOf={asOf} />}
      <Tabs
        label="Views of this thing"
        tabs={[
          {
            name: "timeline",
            label: "Timeline",
            render: () => <Timeline thing={thing} asOf={asOf} />,
          },
          { name: "machine", label: "State machine", render: () => <MachineTab thing={thing} /> },
          {
            name: "why",
            label: "Why",
            render: () => (
              <>
                <Why thing={thing} />
                {asOf === undefined && <WhatIf thing={thing} />}
              </>
            ),
          },
          { name: "envelope", label: "Envelope", render: () => <Envelope thing={thing} /> },
          {
            name: "related",
            label: "Related",
            count: thing.links.length,
            render: () => <Related thing={thing} asOf={asOf} />,
          },
        ]}
      />
    </>
  );
}

function lastFact(thing: Thing): string | null {
  return thing.steps.findLast((each) => each.fact !== null)?.fact ?? null;
}

function Facts({ thing }: { thing: Thing }) {
  return (
    <p class="about">
      <span class="muted">{thing.kind}</span>
      {thing.agents.map((agent) => (
        <span key={`${agent.role} ${agent.id}`}>
          <span class="muted">{agent.role}</span>{" "}
          <a href={address(["verdicts"], { agent: agent.id })}>
            <Text value={agent.id} code />
          </a>
        </span>
      ))}
      {thing.session_id && (
        <span>
          <span class="muted">session</span> <Text value={thing.session_id} code />
        </span>
      )}
      {thing.trace && (
        <span>
          <span class="muted">trace</span>{" "}
          <NodeLink node={`trace:${thing.trace}`} label={thing.trace} />
        </span>
      )}
      {thing.due_at && (
        <span>
          <span class="muted">due</span> <Time at={thing.due_at} />
        </span>
      )}
      <Lineage thing={thing} />
      <RawRecord thing={thing} />
    </p>
  );
}

/** The record that began a thing. */
function RawRecord({ thing }: { thing: Thing }) {
  const record = firstRecord(thing);
  return record ? <a href={recordAddress(record.position)}>Raw record</a> : null;
}

/** The lineage of a thing; what was refused has no edges, so that of its trace. */
function Lineage({ thing }: { thing: Thing }) {
  const { links, node, trace } = thing;
  return links.length > 0 || !trace ? (
    <a href={address(["lineage"], { node })}>Lineage</a>
  ) : (
    <a href={address(["lineage"], { node: `trace:${trace}` })}>Lineage of its trace</a>
  );
}
