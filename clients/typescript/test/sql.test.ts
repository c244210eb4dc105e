/** Jobs in the transaction of an application. Needs PostgreSQL: `cargo xtask test` names one in TENURE_TEST_POSTGRES. */

import { execFileSync } from "node:child_process";

import { sql } from "drizzle-orm";
import { drizzle as connect } from "drizzle-orm/node-postgres";
import pg from "pg";
import { cancel, drizzle, enqueue, signal } from "tenure/sql";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { newDatabase } from "./support.js";

const server = process.env.TENURE_TEST_POSTGRES;

describe.skipIf(server === undefined)("jobs in SQL", () => {
  let pool: pg.Pool;

  beforeAll(async () => {
    const url = await newDatabase();
    execFileSync(process.env.TENURE_BINARY ?? "tenure", ["intake", "install", "--database-url", url], { stdio: "pipe" });
    pool = new pg.Pool({ connectionString: url });
  });

  afterAll(async () => {
    await pool.end();
  });

  /** The requests that were committed, which are removed. */
  const rows = async (): Promise<unknown[]> => {
    const found = await pool.query("select kind, job, name, body, priority, run_at from tenure.intake order by tx, number");
    await pool.query("delete from tenure.intake");
    return found.rows as unknown[];
  };

  const none = { priority: null, run_at: null };

  it("exist if and only if the transaction of pg commits", async () => {
    const client = await pool.connect();
    await client.query("begin");
    await enqueue(client, { type: "charge" });
    await client.query("rollback");
    await client.query("begin");
    const run_at = new Date("2030-01-01T00:00:00Z");
    const job = await enqueue(client, { type: "charge", payload: { order: 42 }, priority: 3, run_at });
    await signal(client, job, "approve", { by: "ann" });
    await cancel(client, job, { mode: "hard", reason: "enough" });
    await client.query("commit");
    client.release();
    expect(await rows()).toEqual([
      { kind: "enqueue", job, name: "charge", body: '{"order":42}', priority: 3, run_at: "1893456000000" },
      { kind: "signal", job, name: "approve", body: '{"by":"ann"}', ...none },
      { kind: "cancel", job, name: "hard", body: "enough", ...none },
    ]);
  });

  it("are part of a transaction of Drizzle", async () => {
    const database = connect(pool);
    const job = await database.transaction((tx) => enqueue(drizzle(tx, sql), { type: "charge", payload: "x'$1" }));
    expect(await rows()).toEqual([{ kind: "enqueue", job, name: "charge", body: "\"x'$1\"", ...none }]);
    const failed = database.transaction(async (tx) => {
      await enqueue(drizzle(tx, sql), { type: "charge" });
      tx.rollback();
    });
    await expect(failed).rejects.toThrow();
    expect(await rows()).toEqual([]);
  });

  it("refuse a schema that is not a name", async () => {
    await expect(enqueue(pool, { type: "charge" }, { schema: '"; drop' })).rejects.toThrow("schema");
  });
});
