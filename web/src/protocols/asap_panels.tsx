import { api, type Schemas } from "../api/client";
import { useApi } from "../api/use_api";
import { NodeLink } from "../parts/link";
import { Loaded } from "../parts/states";
import { Text } from "../parts/text";
import { Time } from "../parts/time";
import { nodePart } from "./cells";
import { type Describe, fact, presentFact, textFact } from "./panel_fact";

type Part = Schemas["AsapMessage"]["parts"][number];

/** How many tasks of a conversation are shown with their messages. */
const MOST_TASKS = 20;

const taskNode = (id: string): string => `asap:task:${nodePart(id)}`;

export const describeAsapTask: Describe = (details) => {
  const task = details as Schemas["AsapListedTask"];
  const progress = task.task.progress;
  return [
    textFact("skill", task.skill_id),
    textFact("requester", task.requester),
    textFact("worker", task.worker),
    progress ? textFact("progress", JSON.stringify(progress)) : null,
    task.input_request ? textFact("input asked for", JSON.stringify(task.input_request)) : null,
    task.snapshot_version === null
      ? fact("snapshots", "none")
      : presentFact("snapshots", <Snapshots task={task.task.id} />),
    textFact("error", task.error_code),
    presentFact("messages", <Messages task={task.task.id} />),
    presentFact("artifacts", <Artifacts task={task.task.id} />),
  ];
};

/** A conversation with what was said in it, task by task. */
export const describeConversation: Describe = (details) => {
  const { conversation, tasks } = details as Schemas["AsapConversation"];
  return [
    textFact("participants", conversation.participants.join(", ")),
    textFact("tasks", tasks.length),
    fact(
      "messages",
      <ul class="lines">
        {tasks.slice(0, MOST_TASKS).map((id) => (
          <li key={id}>
            <NodeLink node={taskNode(id)} label={id} />
            <Messages task={id} />
          </li>
        ))}
        {tasks.length > MOST_TASKS && <li class="muted">and more</li>}
      </ul>,
    ),
  ];
};

/** Write a part of a message: its text, or its JSON. */
function writePart(part: Part): string {
  if (typeof part === "string") return part;
  return typeof part["text"] === "string" ? part["text"] : JSON.stringify(part);
}

/** What the agents of a task said to each other. */
function Messages({ task }: { task: string }) {
  const messages = useApi(`messages ${task}`, (signal) =>
    api.GET("/v1/asap/tasks/{id}/messages", { params: { path: { id: task } }, signal }),
  );
  return (
    <Loaded query={messages}>
      {(data) =>
        data.messages.length === 0 ? (
          <div class="muted">None.</div>
        ) : (
          <ul class="lines">
            {data.messages.map((each) => (
              <li key={each.id}>
                <Time at={each.timestamp} /> <Text value={each.sender} code />{" "}
                <span class="muted">{each.role}</span>
                <div>
                  <Text value={each.parts.map(writePart).join("\n")} />
                </div>
              </li>
            ))}
          </ul>
        )
      }
    </Loaded>
  );
}

/** The states of a task that its worker has stored. */
function Snapshots({ task }: { task: string }) {
  const snapshots = useApi(`snapshots ${task}`, (signal) =>
    api.GET("/v1/asap/tasks/{id}/snapshots", { params: { path: { id: task } }, signal }),
  );
  return (
    <Loaded query={snapshots}>
      {(data) => (
        <ul class="lines">
          {data.snapshots.map((each) => (
            <li key={each.version}>
              <Time at={each.created_at} /> version {each.version}
              {each.checkpoint && ", a checkpoint"}
              {each.restored_from !== null && `, restored from version ${each.restored_from}`}
            </li>
          ))}
        </ul>
      )}
    </Loaded>
  );
}

/** What the worker of a task made. */
function Artifacts({ task }: { task: string }) {
  const artifacts = useApi(`artifacts ${task}`, (signal) =>
    api.GET("/v1/asap/tasks/{id}/artifacts", { params: { path: { id: task } }, signal }),
  );
  return (
    <Loaded query={artifacts}>
      {(data) =>
        data.artifacts.length === 0 ? (
          <div class="muted">None.</div>
        ) : (
          <ul class="lines">
            {data.artifacts.map((each) => (
              <li key={each.id}>
                <Time at={each.created_at} />{" "}
                <NodeLink
                  node={`asap:artifact:${nodePart(task)}/${nodePart(each.id)}`}
                  label={each.name}
                />
              </li>
            ))}
          </ul>
        )
      }
    </Loaded>
  );
}
