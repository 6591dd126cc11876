import { describe, expect, it } from "vitest";
import { splitText } from "../src/parts/escape";

const write = (value: string, code = false): string =>
  splitText(value, code)
    .map(({ text, mark }) => (mark ? `[${text}]` : text))
    .join("");

describe("text of agents", () => {
  it("stays as it is without controls", () => {
    expect(write("<b>é\n\t{{x}} javascript:1")).toBe("<b>é\n\t{{x}} javascript:1");
  });

  it("shows controls and bidirectional overrides as marks", () => {
    expect(write("a\u0000b\u009fc\u202ed\u2066")).toBe("a[U+0000]b[U+009F]c[U+202E]d[U+2066]");
  });

  it("removes ANSI sequences and marks where they were", () => {
    expect(write("\u001b[31mred\u001b[0m")).toBe("[ANSI]red[ANSI]");
    expect(write("\u001b]8;;http://x\u0007link")).toBe("[ANSI]link");
    expect(write("alone \u001b")).toBe("alone [U+001B]");
  });

  it("shows characters of zero width in ids and code alone", () => {
    expect(write("a\u200bb")).toBe("a\u200bb");
    expect(write("a\u200bb", true)).toBe("a[U+200B]b");
  });
});
