import { api, type Schemas } from "../api/client";
import { useApi } from "../api/use_api";
import { PositionLink } from "../parts/link";
import { Page } from "../parts/page";
import { Empty, isStale, Loaded } from "../parts/states";
import { type Column, Table } from "../parts/table";
import { Text } from "../parts/text";
import { Age, Time } from "../parts/time";
import "../style/audit.css";

type Partition = Schemas["AuditedPartition"];
type Redrive = Schemas["AuditedRedrive"];

const SIGNATURES = {
  valid: { sign: "✔", word: "valid" },
  invalid: { sign: "✖", word: "invalid" },
  not_checked: { sign: "·", word: "not checked: no public key is set" },
} as const;

function Signature({ value }: { value: Partition["signature"] }) {
  if (value === null) return <span class="none">–</span>;
  const { sign, word } = SIGNATURES[value];
  return (
    <span class={`signature ${value}`}>
      <span aria-hidden="true">{sign}</span> {word}
    </span>
  );
}

const PARTITIONS: readonly Column<Partition>[] = [
  { label: "topic", cell: ({ topic }) => <Text value={topic} code />, wide: true },
  { label: "partition", cell: ({ partition }) => partition, number: true },
  { label: "end", cell: ({ end }) => end.toLocaleString("en"), number: true },
  {
    label: "sealed to",
    cell: ({ sealed_to }) => sealed_to?.toLocaleString("en") ?? "–",
    number: true,
  },
  { label: "not sealed", cell: ({ unsealed }) => unsealed.toLocaleString("en"), number: true },
  { label: "sealed", cell: ({ sealed_at }) => (sealed_at ? <Age at={sealed_at} /> : "–") },
  { label: "key", cell: ({ key_id }) => (key_id ? <Text value={key_id} code /> : "–") },
  { label: "signature", cell: ({ signature }) => <Signature value={signature} /> },
];

const REDRIVES: readonly Column<Redrive>[] = [
  { label: "time", cell: ({ at }) => <Time at={at} /> },
  { label: "operator", cell: ({ operator }) => <Text value={operator} code /> },
  { label: "topic", cell: ({ topic }) => <Text value={topic} code /> },
  { label: "code", cell: ({ code }) => <Text value={code} code /> },
  { label: "dead letter", cell: ({ dead_letter }) => <PositionLink position={dead_letter} /> },
  { label: "record", cell: ({ position }) => <PositionLink position={position} /> },
  { label: "reason", cell: ({ reason }) => (reason ? <Text value={reason} /> : "–"), wide: true },
];

function Totals({ partitions }: { partitions: readonly Partition[] }) {
  const unsealed = partitions.reduce((sum, each) => sum + each.unsealed, 0);
  const sealed = partitions.filter((each) => each.sealed_to !== null).length;
  const invalid = partitions.filter((each) => each.signature === "invalid").length;
  if (sealed === 0) {
    return (
      <p class="muted">
        No checkpoint is written yet, so nothing is sealed. <code>headrace audit write</code> signs
        checkpoints with the key that HEADRACE_AUDIT_KEY names.
      </p>
    );
  }
  return (
    <p>
      {sealed} of {partitions.length} partitions are sealed; {unsealed.toLocaleString("en")} facts
      are not. {invalid > 0 && <strong>{invalid} signatures are invalid.</strong>}
    </p>
  );
}

/** What signed checkpoints seal, and what operators did. */
export default function AuditPage() {
  const audit = useApi("/v1/audit", (signal) => api.GET("/v1/audit", { signal }));
  const source = { path: "/v1/audit", command: "headrace audit verify" };
  return (
    <Page name="audit" title="Audit" source={source} stale={isStale(audit)}>
      <Loaded query={audit}>
        {({ partitions, redrives }) => (
          <>
            <h2>Sealed facts</h2>
            <Totals partitions={partitions} />
            <Table
              label="Partitions of facts"
              rows={partitions}
              rowKey={({ topic, partition }) => `${topic}/${partition}`}
              columns={PARTITIONS}
            />
            <h2>Redrives</h2>
            {redrives.length === 0 ? (
              <Empty>
                Nobody has sent a dead letter again. <code>headrace dlq redrive</code> and the page
                of dead letters do, and each leaves a record here.
              </Empty>
            ) : (
              <Table
                label="Redrives"
                rows={redrives}
                rowKey={({ position }) => position}
                columns={REDRIVES}
              />
            )}
          </>
        )}
      </Loaded>
    </Page>
  );
}
