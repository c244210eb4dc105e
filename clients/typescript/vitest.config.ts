import { fileURLToPath } from "node:url";

import { defineConfig } from "vitest/config";

const built = (name: string) => fileURLToPath(new URL(`./dist/${name}.js`, import.meta.url));

export default defineConfig({
  // The worker's thread is a file: tests use what was built.
  resolve: { alias: { "tenure/testing": built("testing"), tenure: built("index") } },
  test: { include: ["test/**/*.test.ts"], testTimeout: 30_000, hookTimeout: 30_000, maxWorkers: 4 },
});
