import { Text } from "./text";

export const VERDICTS = {
  accepted: { sign: "✔", word: "accepted" },
  duplicate: { sign: "=", word: "duplicate" },
  rejected: { sign: "✖", word: "refused" },
  none: { sign: "·", word: "none" },
} as const;

export type VerdictName = keyof typeof VERDICTS;

export function isVerdict(value: string): value is VerdictName {
  return value in VERDICTS;
}

/** A verdict: a word and a shape, and the rule behind it. */
export function Verdict({ verdict, rule }: { verdict: string | null; rule?: string | null }) {
  if (verdict === null) return null;
  const look = isVerdict(verdict) ? VERDICTS[verdict] : { sign: "·", word: verdict };
  return (
    <span class="verdict" data-verdict={verdict} data-rule={rule ?? ""}>
      <span class="sign" aria-hidden="true">
        {look.sign}
      </span>{" "}
      {look.word}
      {rule && rule !== verdict && (
        <>
          {" "}
          <span class="rule">
            <Text value={rule} code />
          </span>
        </>
      )}
    </span>
  );
}

/** A state of a thing, or another short word. */
export function State({ value }: { value: string | null | undefined }) {
  if (!value) return <span class="none">–</span>;
  return (
    <span class="state">
      <Text value={value} code />
    </span>
  );
}
