import { api } from "../api/client";
import { useApi } from "../api/use_api";
import { Verdict } from "../parts/chip";
import { quote } from "../parts/copy";
import { Json } from "../parts/json";
import { NodeLink, PositionLink } from "../parts/link";
import { Page } from "../parts/page";
import { ProofBadges } from "../parts/proof";
import { isStale, Loaded } from "../parts/states";
import { Text } from "../parts/text";
import { Time } from "../parts/time";
import { recordAddress } from "../state/url";

interface Props {
  topic: string;
  partition: string;
  offset: string;
}

export default function RecordPage({ topic, partition, offset }: Props) {
  const position = `${topic}/${partition}/${offset}`;
  const path = { topic, partition, offset };
  const record = useApi(
    `record ${position}`,
    (signal) => api.GET("/v1/records/{topic}/{partition}/{offset}", { params: { path }, signal }),
    false,
  );
  const at = Number(offset);
  return (
    <Page
      name="record"
      title={`Record ${position}`}
      stale={isStale(record)}
      source={{ path: `/v1/records/${position}`, command: `headrace show ${quote(position)}` }}
    >
      <nav class="steps" aria-label="Records beside it">
        {at > 0 && <a href={recordAddress(`${topic}/${partition}/${at - 1}`)}>Previous</a>}
        <a href={recordAddress(`${topic}/${partition}/${at + 1}`)}>Next</a>
      </nav>
      <Loaded query={record}>
        {(data) => (
          <>
            <dl class="facts">
              <dt>time</dt>
              <dd>
                <Time at={data.timestamp} />
              </dd>
              <dt>key</dt>
              <dd>
                <Text value={data.key ?? "–"} code />
              </dd>
              <dt>schema</dt>
              <dd>{data.schema ? `${data.schema.name} (${data.schema.id})` : "–"}</dd>
              <dt>size</dt>
              <dd>{data.size.toLocaleString("en")} bytes</dd>
            </dl>
            <Consequences path={path} position={position} />
            <h2>Value</h2>
            <Json value={data.value} href={`/v1/records/${position}`} />
            <h2>Headers</h2>
            <Json value={data.headers} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** The kinds of topics whose records are decided. */
const DECIDED = ["command", "collector"];

/** What came of a record that is decided, or what proves one that is a fact. */
function Consequences({ path, position }: { path: Props; position: string }) {
  const log = useApi("/v1/log", (signal) => api.GET("/v1/log", { signal }), false);
  const kind = log.data?.topics.find(({ name }) => name === path.topic)?.kind;
  if (kind === "fact") return <ProofBadges position={position} key={position} />;
  if (kind === undefined || !DECIDED.includes(kind)) return null;
  return (
    <>
      <h2>What came of it</h2>
      <EffectsOf path={path} />
    </>
  );
}

interface EffectsProps {
  path: Props;
}

/** Verdicts, facts, messages and edges that a command led to. */
function EffectsOf({ path }: EffectsProps) {
  const effects = useApi(`effects ${path.topic}/${path.partition}/${path.offset}`, (signal) =>
    api.GET("/v1/records/{topic}/{partition}/{offset}/effects", { params: { path }, signal }),
  );
  if (effects.problem && effects.problem.status < 500 && effects.problem.status >= 400) {
    return (
      <p class="empty">
        <Text value={effects.problem.detail} />
      </p>
    );
  }
  return (
    <Loaded query={effects}>
      {(data) => (
        <>
          <ul class="lines">
            {data.verdicts.map((each) => (
              <li key={each.fact}>
                <Verdict verdict={each.verdict} rule={each.rule} />{" "}
                <NodeLink node={each.node} label={each.title} /> <Text value={each.message ?? ""} />
              </li>
            ))}
            {data.verdicts.length === 0 && (
              <li class="empty">{data.decided ? "No verdict is owed." : "Not decided yet."}</li>
            )}
          </ul>
          <dl class="facts">
            <Positions label="facts" positions={data.facts} />
            <Positions label="messages" positions={data.messages} />
            <Positions label="edges" positions={data.edges} />
          </dl>
        </>
      )}
    </Loaded>
  );
}

function Positions({ label, positions }: { label: string; positions: readonly string[] }) {
  if (positions.length === 0) return null;
  return (
    <>
      <dt>{label}</dt>
      <dd>
        {positions.map((each) => (
          <span key={each}>
            <PositionLink position={each} />{" "}
          </span>
        ))}
      </dd>
    </>
  );
}
