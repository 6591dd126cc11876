// Shows a session in a terminal: node dist/main.js --gateway URL --session ID [--state FILE] [--until N]
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { follow } from "./follow";
import { Renderer } from "./render";

const { values } = parseArgs({
  options: {
    gateway: { type: "string", default: process.env["HEADRACE_URL"] ?? "http://127.0.0.1:8080" },
    session: { type: "string" },
    /** A file that holds the id of the last record that was shown. */
    state: { type: "string" },
    /** End once a record of this sequence was shown. */
    until: { type: "string" },
  },
});
if (values.session === undefined) {
  console.error("--session is missing");
  process.exit(2);
}

const renderer = new Renderer();
const state = values.state;
const until = values.until === undefined ? Infinity : Number(values.until);
const cursor =
  state !== undefined && existsSync(state) ? readFileSync(state, "utf8").trim() : undefined;
const token = process.env["HEADRACE_TOKEN"];

const follower = follow({
  gateway: values.gateway,
  session: values.session,
  ...(token === undefined ? {} : { token }),
  ...(cursor === undefined ? {} : { cursor }),
  onRecord(record, id) {
    for (const line of renderer.lines(record)) {
      console.log(`${record.sequence} ${line}`);
    }
    if (state !== undefined) {
      writeFileSync(state, id);
    }
    if (record.sequence >= until) {
      follower.close();
    }
  },
  onStatus(text) {
    console.error(text);
  },
});
