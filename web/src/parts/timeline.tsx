import { useState } from "preact/hooks";
import type { Schemas } from "../api/client";
import { writeSpan } from "../state/clock";
import { Children } from "./children";
import { State, Verdict } from "./chip";
import { PositionLink } from "./link";
import { Empty } from "./states";
import { Text } from "./text";
import { Time } from "./time";
import { barWidth, gapHeight, listGaps } from "./time_axis";

type Thing = Schemas["Thing"];
type Step = Thing["steps"][number];

/** How high a gap is that has room for its length, in pixels. */
const LABELLED = 16;

/** What happened to a thing, step by step, with its children and answers. */
export function Timeline({ thing, asOf }: { thing: Thing; asOf: string | undefined }) {
  const [text, setText] = useState("");
  const [only, setOnly] = useState(false);
  const matches = (step: Step): boolean =>
    text === "" || JSON.stringify(step).toLowerCase().includes(text.toLowerCase());
  const steps = only ? thing.steps.filter(matches) : thing.steps;
  const gaps = listGaps(steps.map((each) => Date.parse(each.at)));
  const longest = Math.max(...gaps.filter((each) => !gapHeight(each).isFolded));
  if (thing.steps.length === 0) {
    return (
      <>
        <Empty>A thing of this kind has no steps of its own.</Empty>
        <Children thing={thing} asOf={asOf} />
      </>
    );
  }
  return (
    <>
      <search class="filters">
        <input
          type="search"
          class="text"
          aria-label="Text in the steps"
          placeholder="text in the steps"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <label>
          <input
            type="checkbox"
            checked={only}
            onInput={(event) => setOnly(event.currentTarget.checked)}
          />{" "}
          matches only
        </label>
      </search>
      <ol class="timeline">
        {steps.map((step, index) => (
          <TimelineStep
            key={step.n}
            step={step}
            gap={gaps[index] ?? 0}
            longest={longest}
            faint={text !== "" && !matches(step)}
          />
        ))}
      </ol>
      {thing.next !== null && <p class="muted">More steps follow; the API has them by cursor.</p>}
      <Children thing={thing} asOf={asOf} />
    </>
  );
}

interface StepProps {
  step: Step;
  /** The milliseconds since the step before. */
  gap: number;
  /** The longest of these that is not folded. */
  longest: number;
  faint: boolean;
}

function TimelineStep({ step, gap, longest, faint }: StepProps) {
  const { height, isFolded } = gapHeight(gap);
  return (
    <li data-step={step.n} class={faint ? "faint" : undefined}>
      {height > 0 && (
        <span class="gap" style={{ height: `${height}px` }}>
          {isFolded && <span class="muted">⋯ {writeSpan(gap)}</span>}
          {!isFolded && height >= LABELLED && (
            <>
              <span class="length" style={{ width: `${barWidth(gap, longest)}px` }} />
              <span class="muted">{writeSpan(gap)}</span>
            </>
          )}
        </span>
      )}
      <div class="row">
        <Time at={step.at} />
        <span class="dot" data-dot={step.verdict ?? "none"} aria-hidden="true" />
        <div>
          {step.event && (
            <>
              <strong>
                <Text value={step.event} code />
              </strong>{" "}
            </>
          )}
          {step.from !== step.to && <>{step.from && <State value={step.from} />} → </>}
          <State value={step.to} /> <Verdict verdict={step.verdict} rule={step.rule} />
          {step.message && (
            <div class="reason">
              <Text value={step.message} />
            </div>
          )}
        </div>
        <span class="origin">
          <PositionLink position={step.cause ?? step.fact} />
          {step.principal && (
            <span class="muted">
              by <Text value={step.principal} code />
            </span>
          )}
        </span>
      </div>
    </li>
  );
}
