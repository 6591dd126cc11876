import { defineConfig } from "vite";

const gateway = process.env["HEADRACE_URL"] ?? "http://127.0.0.1:8640";

export default defineConfig({
  base: "/console/",
  build: {
    outDir: process.env["OUT"] ?? "../streams/doors/console/assets",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
    // The first ones with light-dark(), all of them older than two years.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  server: { proxy: { "/v1": gateway, "/readyz": gateway } },
});
