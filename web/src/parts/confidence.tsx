import { api } from "../api/client";
import { useApi } from "../api/use_api";
import { byAgent, type ConfidencePoint, toPoints } from "./confidence_figures";
import { NodeLink } from "./link";
import { Loaded } from "./states";
import { Text } from "./text";

const WIDTH = 360;
const HEIGHT = 96;
const PAD = 6;
const LIMIT = 200;

/** The confidence of an agent's turns, with what they escalated, as a drawing and a table. */
export function Confidence({ task }: { task: string }) {
  const query = { task_id: task, limit: LIMIT };
  const turns = useApi(`turns ${task}`, (signal) =>
    api.GET("/v1/saop/turns", { params: { query }, signal }),
  );
  const escalations = useApi(`escalations ${task}`, (signal) =>
    api.GET("/v1/saop/escalations", { params: { query }, signal }),
  );
  const raised = escalations.data?.items ?? [];
  const detected = raised.find((each) => each.detector === "confidence");
  return (
    <Loaded query={turns}>
      {({ items }) =>
        items.length === 0 ? (
          <>no turns</>
        ) : (
          <Figures
            task={task}
            points={toPoints(items, raised)}
            ceiling={detected?.thresholds["ceiling"]}
            slope={detected?.slope}
          />
        )
      }
    </Loaded>
  );
}

interface FiguresProps {
  task: string;
  points: readonly ConfidencePoint[];
  ceiling: number | string | undefined;
  slope: number | string | null | undefined;
}

function Figures({ task, points, ceiling, slope }: FiguresProps) {
  return (
    <>
      <Drawing points={points} ceiling={ceiling === undefined ? undefined : Number(ceiling)} />
      <p class="muted">
        {points.length} turns{slope != null && `, slope ${slope} a turn`}
        {ceiling !== undefined && `, dashed: ceiling ${ceiling}`}
      </p>
      <details>
        <summary>Turns</summary>
        <table class="checks">
          <thead>
            <tr>
              <th scope="col">turn</th>
              <th scope="col">agent</th>
              <th scope="col">confidence</th>
              <th scope="col">escalation</th>
            </tr>
          </thead>
          <tbody>
            {points.map(({ turn, agent, confidence, rules }) => (
              <tr key={`${turn} ${agent}`} class={rules.length > 0 ? "refused" : undefined}>
                <th scope="row">
                  <NodeLink node={`saop:turn:${task}/${turn}`} label={String(turn)} />
                </th>
                <td>
                  <Text value={agent} code />
                </td>
                <td>{confidence}</td>
                <td>
                  <Text value={rules.join(", ")} code />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </>
  );
}

function Drawing({
  points,
  ceiling,
}: {
  points: readonly ConfidencePoint[];
  ceiling: number | undefined;
}) {
  const turns = points.map(({ turn }) => turn);
  const from = Math.min(...turns);
  const span = Math.max(1, Math.max(...turns) - from);
  const x = (turn: number): number => PAD + ((turn - from) / span) * (WIDTH - 2 * PAD);
  const y = (confidence: number): number => PAD + (1 - confidence) * (HEIGHT - 2 * PAD);
  return (
    <svg
      class="confidence"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label="Confidence by turn; the table of turns has the same figures"
    >
      {[0, 0.5, 1].map((each) => (
        <line key={each} class="grid" x1={PAD} x2={WIDTH - PAD} y1={y(each)} y2={y(each)} />
      ))}
      {ceiling !== undefined && (
        <line class="threshold" x1={PAD} x2={WIDTH - PAD} y1={y(ceiling)} y2={y(ceiling)} />
      )}
      {byAgent(points).map(([agent, line]) => (
        <polyline
          key={agent}
          points={line.map((each) => `${x(each.turn)},${y(each.confidence)}`).join(" ")}
        />
      ))}
      {points.map(({ turn, agent, confidence, rules }) => (
        <circle
          key={`${turn} ${agent}`}
          class={rules.length > 0 ? "escalated" : undefined}
          cx={x(turn)}
          cy={y(confidence)}
          r={rules.length > 0 ? 4.5 : 2.5}
        />
      ))}
    </svg>
  );
}
