// The official TypeScript client of the second generation, which agrees on the newest version by itself.
//
// node modern.js FILE, in which {"url", "node"} are; prints what it got as JSON.
import { readFileSync } from "node:fs";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const { url, node } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const client = new Client(
  { name: "interop", version: "1.0.0" },
  { versionNegotiation: { mode: "auto" } },
);
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const { tools } = await client.listTools();
const state = await client.callTool({ name: "state", arguments: { node } });
const refused = await client.callTool({ name: "state", arguments: { node: "apc:packet:none" } });
const { name } = client.getServerVersion();
const version = client.getNegotiatedProtocolVersion();
await client.close();
console.log(
  JSON.stringify({
    server: name,
    version,
    tools: tools.map((tool) => tool.name),
    state: state.structuredContent,
    refused: [refused.isError, refused.structuredContent.rule],
  }),
);
