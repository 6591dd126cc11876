import { useState } from "preact/hooks";
import { api, type Schemas } from "../api/client";
import { useApi } from "../api/use_api";
import { hasFeature, service } from "../state/service";
import { splitPosition } from "../state/url";
import { Text } from "./text";
import { Time } from "./time";

type Proof = Schemas["Proof"];
type Cosigners = Schemas["AuditLog"]["cosigners"];

export interface Level {
  name: string;
  /** null: it was not checked, or there is nothing to check. */
  holds: boolean | null;
  word: string;
  detail: string;
}

const REDERIVED = {
  holds: { holds: true, word: "derived again" },
  differs: { holds: false, word: "derived otherwise" },
  not_derivable: { holds: null, word: "not derivable" },
} as const;

function describeSeal(sealed: Proof["sealed"]): Level {
  if (sealed === null) {
    return { name: "sealed", holds: null, word: "not sealed", detail: "No checkpoint covers it." };
  }
  if ("index" in sealed) {
    const failed = sealed.signature === "invalid";
    return {
      name: "sealed",
      holds: failed ? false : sealed.signature === "valid" ? true : null,
      word: failed ? "seal is broken" : "sealed",
      detail:
        `Entry ${sealed.index} of ${sealed.size} in the log ${sealed.origin};` +
        ` signature ${sealed.signature}.`,
    };
  }
  const failed = sealed.signature === "invalid" || sealed.records === "differ";
  const checked = sealed.signature === "valid" && sealed.records === "match";
  return {
    name: "sealed",
    holds: failed ? false : checked ? true : null,
    word: failed ? "seal is broken" : checked ? "sealed" : "sealed, not checked",
    detail:
      `Checkpoint ${sealed.sequence} covers ${sealed.from} to ${sealed.to}; key ${sealed.key_id};` +
      ` signature ${sealed.signature}; records ${sealed.records}.`,
  };
}

function describeReceipt(receipt: Proof["receipt"]): Level {
  return {
    name: "included",
    holds: receipt === null ? null : true,
    word: receipt === null ? "not in the log" : "in the log",
    detail:
      receipt === null
        ? "The transparency log has no published entry of it."
        : "It is in the transparency log, under a published checkpoint.",
  };
}

function describeWitnesses(receipt: Proof["receipt"], cosigners: Cosigners): Level {
  const names = receipt === null ? [] : cosigners.map((each) => each.name);
  const witnessed = names.length > 0;
  return {
    name: "witnessed",
    holds: witnessed ? true : null,
    word: witnessed ? "witnessed" : "not witnessed",
    detail: witnessed
      ? `The newest checkpoint over it is cosigned by ${names.join(", ")}.`
      : "No witness has cosigned a checkpoint over it.",
  };
}

/** List what proves a fact, level by level.

withReceipts: whether there is a transparency log.
cosigners: of its newest checkpoint; undefined while they are unknown. */
export function listLevels(proof: Proof, withReceipts: boolean, cosigners?: Cosigners): Level[] {
  const { outcome, detail } = proof.rederived;
  return [
    {
      name: "recorded",
      holds: proof.recorded,
      word: proof.recorded ? "recorded" : "not recorded",
      detail: `The record ${proof.position} is ${proof.recorded ? "" : "not "}on the log.`,
    },
    { name: "rederived", ...REDERIVED[outcome], detail },
    describeSeal(proof.sealed),
    ...(withReceipts ? [describeReceipt(proof.receipt)] : []),
    ...(cosigners ? [describeWitnesses(proof.receipt, cosigners)] : []),
  ];
}

const sign = (holds: boolean | null): string => (holds === null ? "–" : holds ? "✔" : "✖");

/** A badge per level of proof of a fact, each explained on click. */
export function ProofBadges({ position }: { position: string }) {
  const [shownLevel, setShownLevel] = useState<string | null>(null);
  const path = splitPosition(position);
  const proof = useApi(
    `proof ${position}`,
    (signal) =>
      api.GET("/v1/records/{topic}/{partition}/{offset}/proof", { params: { path }, signal }),
    false,
  );
  const withReceipts = hasFeature(service.value, "receipts");
  const log = useApi(
    withReceipts ? "/v1/audit/log" : null,
    (signal) => api.GET("/v1/audit/log", { signal }),
    false,
  );
  if (!proof.data) return null;
  const levels = listLevels(proof.data, withReceipts, log.data?.cosigners);
  const level = levels.find((each) => each.name === shownLevel);
  return (
    <section class="proof" aria-label="Proof">
      {levels.map((each) => (
        <button
          type="button"
          key={each.name}
          class="badge"
          data-proof={each.name}
          data-holds={each.holds === null ? "absent" : String(each.holds)}
          aria-expanded={each.name === shownLevel}
          onClick={() => setShownLevel(each.name === shownLevel ? null : each.name)}
        >
          <span aria-hidden="true">{sign(each.holds)}</span> {each.word}
        </button>
      ))}
      {level && (
        <p class="muted">
          <Text value={level.detail} />{" "}
          {level.name === "sealed" && <Time at={proof.data.sealed?.at} />}
          {level.name === "included" && proof.data.receipt !== null && (
            <a href={proof.data.receipt} download={`${position.replaceAll("/", "-")}.tlog-proof`}>
              Download the receipt
            </a>
          )}
        </p>
      )}
    </section>
  );
}
