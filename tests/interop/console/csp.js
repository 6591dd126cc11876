// Prints what csp_evaluator finds in a policy, as JSON.
//
// node csp.js FILE
import { readFileSync } from "node:fs";
import evaluator from "csp_evaluator/dist/evaluator.js";
import finding from "csp_evaluator/dist/finding.js";
import parser from "csp_evaluator/dist/parser.js";

const policy = readFileSync(process.argv[2], "utf8");
const findings = new evaluator.CspEvaluator(new parser.CspParser(policy).csp).evaluate();
const rows = findings.map(({ directive, value, description, severity }) => ({
  directive,
  value: value ?? null,
  description,
  severity: finding.Severity[severity],
}));
console.log(JSON.stringify(rows));
