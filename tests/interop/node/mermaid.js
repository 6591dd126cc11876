// What is wrong with each diagram of a JSON list, null where nothing is, as JSON.
import { readFileSync } from "node:fs";

import { JSDOM } from "jsdom";

const { window } = new JSDOM("");
Object.assign(globalThis, { window, document: window.document });
const { default: mermaid } = await import("mermaid");

const found = [];
for (const diagram of JSON.parse(readFileSync(process.argv[2], "utf8"))) {
  found.push(await mermaid.parse(diagram).then(() => null, String));
}
console.log(JSON.stringify(found));
