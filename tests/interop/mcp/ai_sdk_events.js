// The client of the AI SDK has events posted to its own receiver, refreshes that and ends it.
//
// node ai_sdk_events.js FILE, in which {"url", "token", "envelopes"} are: SAP tasks, of which the
// first is sent before the refresh.  Prints what it got as JSON.
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import {
  createMCPClient,
  experimental_createMCPEventWebhook as createWebhook,
} from "@ai-sdk/mcp";

const { url, token, envelopes } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const rows = new Map();
const store = {
  get: async (key) => rows.get(key),
  getById: async (id) => [...rows.values()].find((row) => row.id === id),
  set: async (row) => void rows.set(row.key, row),
  update: async (key, patch) => void rows.set(key, { ...rows.get(key), ...patch }),
  delete: async (key) => void rows.delete(key),
};
const events = [];
const statuses = [];
const handle = createWebhook({ store, onEvent: async ({ event }) => void events.push(event) });
const server = createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const answer = await handle(
    new Request(`http://127.0.0.1:${server.address().port}${request.url}`, {
      method: request.method,
      headers: request.headers,
      body: Buffer.concat(parts),
    }),
  );
  statuses.push(answer.status);
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  response.end(Buffer.from(await answer.arrayBuffer()));
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const arrived = async (count) => {
  for (let tries = 0; events.length < count && tries < 600; tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 50));
};

const headers = { Authorization: `Bearer ${token}` };
const client = await createMCPClient({
  transport: { type: "http", url, headers },
  experimental_events: { store },
});
const tools = await client.tools();
const send = (envelope) =>
  tools.send.execute(
    { topic: "sap.tasks", envelope, wait_s: 50 },
    { messages: [], toolCallId: "send" },
  );
const subscribed = await client.experimental_events.subscribe({
  name: "fact",
  arguments: { topic: "sap.acks" },
  delivery: {
    mode: "webhook",
    url: `http://127.0.0.1:${server.address().port}/events`,
    allowInsecureLocalhost: true,
  },
});
await send(envelopes[0]);
await arrived(1);
const refreshed = await client.experimental_events.refresh({ id: subscribed.id });
await send(envelopes[1]);
await arrived(2);
await client.experimental_events.unsubscribe({ id: subscribed.id });
await client.close();
server.close();
console.log(
  JSON.stringify({
    ids: [subscribed.id, refreshed.id],
    truncated: subscribed.truncated,
    events: events.map((event) => event.data.value.taskId),
    names: events.map((event) => event.name),
    statuses,
    left: rows.size,
  }),
);
process.exit(0);
