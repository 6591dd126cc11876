import { describe, expect, it } from "vitest";
import { cacheKeyOf, checkChain } from "../src/parts/cache_chain";

const make = (version: number, previousSha256: string, recordSha256: string) => ({
  version,
  previousSha256,
  recordSha256,
  verified: true,
});

describe("the versions of a cached key", () => {
  it("follow each other by their hashes, in whatever order they come", () => {
    const links = checkChain([make(3, "x", "c"), make(1, "", "a"), make(2, "a", "b")]);
    expect(links.map((each) => [each.version.version, each.holds])).toEqual([
      [1, null],
      [2, true],
      [3, false],
    ]);
  });

  it("are those of the key in the node", () => {
    expect(cacheKeyOf("sap:cache:abc/12")).toBe("abc");
  });
});
