// Completes a build: the licences, a compressed copy beside each file, and BUILD.json.
//
// node scripts/finish.mjs FOLDER DOCUMENT
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const [folder, document] = process.argv.slice(2);
const root = resolve(import.meta.dirname, "..", "..");

const sha256 = (content) => createHash("sha256").update(content).digest("hex");
const sorted = (entries) =>
  Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));

function listFiles(path) {
  return readdirSync(path).flatMap((name) => {
    const each = join(path, name);
    return statSync(each).isDirectory() ? listFiles(each) : [each];
  });
}

/** The files below web/ that Git has or would add. */
function listSources() {
  const options = ["ls-files", "--cached", "--others", "--exclude-standard", "--", "web"];
  const names = execFileSync("git", options, { cwd: root, encoding: "utf8" }).split("\n");
  return names.filter((name) => name !== "" && existsSync(join(root, name)));
}

/** The licence of each library that is in the built files. */
function writeLicences() {
  const manifest = JSON.parse(readFileSync(join(root, "web", "package.json"), "utf8"));
  const names = Object.keys(manifest.dependencies).sort();
  const parts = names.map((name) => {
    const path = join(root, "web", "node_modules", name);
    const file = readdirSync(path).find((each) => /^licen[cs]e/i.test(each));
    const { version, license } = JSON.parse(readFileSync(join(path, "package.json"), "utf8"));
    const text = file ? readFileSync(join(path, file), "utf8") : `${license}\n`;
    return `${name} ${version}\n\n${text}`;
  });
  const icons = readFileSync(join(root, "web", "licenses", "lucide.txt"), "utf8");
  const rule = `\n${"-".repeat(78)}\n\n`;
  writeFileSync(join(folder, "LICENSES.txt"), [...parts, `lucide\n\n${icons}`].join(rule));
}

function compress(path) {
  const content = readFileSync(path);
  const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
  writeFileSync(`${path}.br`, brotliCompressSync(content, { params }));
  writeFileSync(`${path}.gz`, gzipSync(content, { level: constants.Z_BEST_COMPRESSION }));
}

writeLicences();
listFiles(folder).forEach(compress);
const build = {
  sources: sorted(listSources().map((name) => [name, sha256(readFileSync(join(root, name)))])),
  document: sha256(readFileSync(document)),
  built: sorted(
    listFiles(folder).map((path) => [
      relative(folder, path).split(sep).join("/"),
      sha256(readFileSync(path)),
    ]),
  ),
};
writeFileSync(join(folder, "BUILD.json"), `${JSON.stringify(build, null, 1)}\n`);
