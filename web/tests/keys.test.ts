import { expect, test } from "vitest";
import { readKey } from "../src/parts/keys";

const press = (
  key: string,
  held: Partial<Record<"ctrlKey" | "metaKey" | "altKey", true>> = {},
) => ({
  key,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  ...held,
});

test("Find opens with a modifier, whether single keys count or not", () => {
  expect(readKey(press("k", { ctrlKey: true }), "", false)).toBe("find");
  expect(readKey(press("K", { metaKey: true }), "", false)).toBe("find");
  expect(readKey(press("k", { ctrlKey: true, altKey: true }), "", true)).toBeUndefined();
});

test("single keys count only where they are switched on", () => {
  expect(readKey(press("/"), "", true)).toBe("find");
  expect(readKey(press("?"), "", true)).toBe("help");
  expect(readKey(press("r"), "g", true)).toEqual({ page: "verdicts" });
  expect(readKey(press("r"), "", true)).toBeUndefined();
  for (const key of ["/", "?"]) expect(readKey(press(key), "", false)).toBeUndefined();
  expect(readKey(press("r"), "g", false)).toBeUndefined();
});
