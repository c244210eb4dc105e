// Moves the waiting jobs of pg-boss queues (states created and retry) to Tenure.
//
// Each page is a transaction that locks its rows, so workers of pg-boss skip them; stop the workers all the same, because a
// killed run leaves jobs in both systems until it is repeated. Run it in the folder of the application, whose `pg` it uses.
// TENURE_URL and TENURE_KEY, or TENURE_KEY_FILE, are those of the server.
import { createRequire } from "node:module";
import { BATCH, Move, attempts, end, keyOf, parse, priority } from "./move.mjs";

const USAGE = `node from_pg_boss.mjs [OPTION…] QUEUE…

  --database URL  default: DATABASE_URL
  --schema NAME   the schema of pg-boss; default: pgboss
  --dry-run       only count, and list what cannot be moved`;

const { values, queues } = parse(USAGE, {
  database: { type: "string", default: process.env.DATABASE_URL },
  schema: { type: "string", default: "pgboss" },
});
if (!values.database) end(`--database is missing\n\n${USAGE}`);

const { Client } = createRequire(`${process.cwd()}/`)("pg");
const table = `${Client.prototype.escapeIdentifier(values.schema)}.job`;
const PAGE = `select to_jsonb(job) as row, created_on::text as place from ${table} job
  where name = $1 and state < 'active' and (created_on, id) > ($2::text::timestamptz, $3::uuid)
  order by created_on, id limit ${BATCH} for update skip locked`;
const ACTIVE = `select id from ${table} where name = $1 and state = 'active'`;
const REMOVE = `delete from ${table} where name = $1 and id = any($2::uuid[])`;

function entryOf({ row }) {
  // Columns of version 12.
  if (row.blocked || row.blocking) return { id: row.id, reason: "depends on another job, or another on it" };
  // The count grows when a retry is fetched: a job that waits for its first retry has the count 0.
  const left = row.retry_limit - row.retry_count + (row.state === "retry" ? 0 : 1);
  return {
    id: row.id,
    job: {
      type: row.name,
      payload: row.data,
      priority: priority(row.priority),
      max_attempts: attempts(left),
      // In one form, whatever the time zone of the session: a repeated creation must have the same body.
      run_at: new Date(row.start_after).toISOString(),
      correlation_id: row.id,
      idempotency_key: keyOf("pg-boss", row.id),
    },
  };
}

async function moveQueue(client, move, name) {
  let place = ["-infinity", "00000000-0000-0000-0000-000000000000"];
  for (;;) {
    await client.query("begin");
    const { rows } = await client.query(PAGE, [name, ...place]);
    await move.page(rows.map(entryOf), async (entries) => {
      await client.query(REMOVE, [name, entries.map(({ id }) => id)]);
      return [];
    });
    await client.query("commit");
    if (rows.length === 0) return;
    place = [rows.at(-1).place, rows.at(-1).row.id];
  }
}

const client = new Client({ connectionString: values.database });
const move = new Move({ dryRun: values["dry-run"] });
await move.run(async () => {
  await client.connect();
  for (const name of queues) {
    await moveQueue(client, move, name);
    const { rows } = await client.query(ACTIVE, [name]);
    for (const { id } of rows) move.leave(id, "a worker has it, or was killed with it");
  }
});
await client.end();
