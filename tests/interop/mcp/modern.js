// The official TypeScript client of the second generation, which agrees on the newest version by itself:
// it lists and calls tools, is told how a task gets on, reads a resource and completes an argument.
//
// node modern.js FILE, in which {"url", "node", "task", "results"} are; prints what it got as JSON.
import { readFileSync } from "node:fs";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const { url, node, task, results } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const client = new Client(
  { name: "interop", version: "1.0.0" },
  { versionNegotiation: { mode: "auto" } },
);
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const { tools } = await client.listTools();
const state = await client.callTool({ name: "state", arguments: { node } });
const refused = await client.callTool({ name: "state", arguments: { node: "apc:packet:none" } });
const progress = [];
const reporting = [];
const send = (topic, envelope, wait, options) => {
  const call = { name: "send", arguments: { topic, envelope, wait, wait_s: 50 } };
  return client.callTool(call, options);
};
const report = ({ message }) => {
  progress.push(message);
  if (results.length > 0) reporting.push(send("sap.results", results.shift(), "verdict"));
};
const sent = await send("sap.tasks", task, "outcome", { onprogress: report });
await Promise.all(reporting);
const read = await client.readResource({ uri: `headrace://node/${encodeURIComponent(node)}` });
const completed = await client.complete({
  ref: { type: "ref/resource", uri: "headrace://rule/{rule}" },
  argument: { name: "rule", value: "token_" },
});
const { name } = client.getServerVersion();
const version = client.getNegotiatedProtocolVersion();
await client.close();
console.log(
  JSON.stringify({
    server: name,
    version,
    tools: tools.map((tool) => tool.name),
    state: state.structuredContent,
    progress,
    outcome: sent.structuredContent.outcome,
    resource: JSON.parse(read.contents[0].text),
    completed: completed.completion.values,
    refused: [refused.isError, refused.structuredContent.rule],
  }),
);
