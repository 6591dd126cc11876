// The diagnostics of an AsyncAPI document, and what the parser found in it, as JSON.
import { readFileSync } from "node:fs";

import { AvroSchemaParser } from "@asyncapi/avro-schema-parser";
import { Parser } from "@asyncapi/parser";

const parser = new Parser();
parser.registerSchemaParser(AvroSchemaParser());
const { document, diagnostics } = await parser.parse(readFileSync(process.argv[2], "utf8"));
const ids = (found) => (found ? found.all().map((each) => each.id()) : []);
const headers = (message) => Object.keys(message.headers().properties());

console.log(
  JSON.stringify({
    diagnostics: diagnostics.map(({ code, severity, path, message }) => ({
      code,
      severity,
      path: path.join("."),
      message,
    })),
    channels: ids(document?.channels()),
    operations: ids(document?.operations()),
    headers: Object.fromEntries(
      (document?.channels().all() ?? []).map((channel) => [
        channel.id(),
        headers(channel.messages().all()[0]),
      ]),
    ),
  }),
);
