import { fileURLToPath } from "node:url";

import { defineConfig } from "vitest/config";

const built = (name: string) => fileURLToPath(new URL(`./dist/${name}.js`, import.meta.url));

/** The tests that use a server, again on PostgreSQL. */
const postgres = {
  extends: true as const,
  test: { name: "postgres", include: ["test/{client,faults,worker}.test.ts"], env: { TENURE_TEST_STORE: "postgres" } },
};

export default defineConfig({
  // The worker's thread is a file: tests use what was built.
  resolve: { alias: { "tenure/sql": built("sql"), "tenure/testing": built("testing"), tenure: built("index") } },
  test: {
    testTimeout: 30_000,
    hookTimeout: 30_000,
    maxWorkers: 4,
    projects: [
      { extends: true, test: { name: "embedded", include: ["test/**/*.test.ts"] } },
      ...(process.env.TENURE_TEST_POSTGRES ? [postgres] : []),
    ],
  },
});
