// The client of the AI SDK makes tools of what is listed, runs them, reads, completes and lists events.
//
// node ai_sdk.js FILE, in which {"url", "node"} are; prints what it got as JSON.
import { readFileSync } from "node:fs";
import { createMCPClient } from "@ai-sdk/mcp";

const { url, node } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const client = await createMCPClient({
  transport: { type: "http", url },
  experimental_events: { store: {} },
});
const tools = await client.tools();
const ask = (id) => tools.state.execute({ node: id }, { messages: [], toolCallId: id });
const state = await ask(node);
const refused = await ask("apc:packet:none");
const uri = `headrace://node/${encodeURIComponent(node)}`;
const read = await client.readResource({ uri });
const completed = await client.complete({
  ref: { type: "ref/resource", uri: "headrace://rule/{rule}" },
  argument: { name: "rule", value: "token_" },
});
const { events } = await client.experimental_events.list();
const delivery = { mode: "webhook", url: "https://receiver.example/events" };
const subscribed = await client.experimental_events
  .subscribe({ name: "verdict", delivery })
  .catch((error) => error.message);
await client.close();
console.log(
  JSON.stringify({
    server: client.serverInfo.name,
    version: client.initializeResult.protocolVersion,
    tools: Object.keys(tools),
    state: state.structuredContent,
    refused: [refused.isError, refused.structuredContent.rule],
    resource: JSON.parse(read.contents[0].text),
    completed: completed.completion.values,
    events: Object.fromEntries(events.map((event) => [event.name, event.delivery])),
    subscribed,
  }),
);
