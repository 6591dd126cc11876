// The official JavaScript client sends a message twice, follows its task, and resumes the stream.
//
// node client.js FILE, in which {"card", "binding", "message"} are; prints what it got as JSON.
import { readFileSync } from "node:fs";
import { ListTasksRequest, Role, SendMessageRequest, taskStateToJSON } from "@a2a-js/sdk";
import { ClientFactory, ClientFactoryOptions } from "@a2a-js/sdk/client";

const LOG = "urn:headrace:a2a:log:v1";
const { card, binding, message } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const preferred = { preferredTransports: [binding] };
const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, preferred);
const client = await new ClientFactory(options).createFromUrl(card, "");
const request = () => SendMessageRequest.fromJSON({ message });

async function read(events) {
  const all = [];
  for await (const { payload } of events) {
    all.push([payload.$case, payload.value.metadata[LOG].id]);
  }
  return all;
}

const first = await read(client.sendMessageStream(request()));
const again = await client.sendMessage(request());
const { id, contextId } = again;
const task = await client.getTask({ tenant: "", id });
const list = await client.listTasks(ListTasksRequest.fromJSON({ contextId }));
const resumeAt = { serviceParameters: { "Last-Event-ID": "1" } };
const resumed = await read(client.resubscribeTask({ tenant: "", id }, resumeAt));
const refusal = await client.cancelTask({ tenant: "", id }).catch((error) => error.constructor.name);
console.log(
  JSON.stringify({
    first,
    resumed,
    refusal,
    id: task.id,
    state: taskStateToJSON(task.status.state),
    output: task.artifacts[0].parts.map((part) => part.content.value),
    history: task.history.map((each) => [each.role === Role.ROLE_USER, each.parts.length]),
    listed: list.tasks.map((each) => each.id),
  }),
);
