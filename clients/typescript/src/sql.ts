/**
 * Jobs in the transaction of an application: `tenure.enqueue`, `tenure.cancel` and `tenure.signal` of PostgreSQL. The job exists if
 * and only if the transaction commits.
 *
 * With `pg`, pass the client that holds the transaction. With Drizzle, pass the transaction and its `sql` tag through
 * {@link drizzle}: `enqueue(drizzle(tx, sql), { type: "charge_card" })`.
 *
 * @packageDocumentation
 */

/** What these functions need of a client or pool of `pg`. */
export interface Queryable {
  query(text: string, values: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
}

/** A request for a job. Tenure judges it after the commit. */
export interface JobRequest {
  type: string;
  payload?: unknown;
  idempotency_key?: string;
  queue?: string;
  priority?: number;
  run_at?: Date;
  user_id?: string;
  correlation_id?: string;
}

/** Where the functions are: `schema` if the server has another `database_schema`. */
export interface SqlOptions {
  schema?: string;
}

/** Requests a job and returns its id. */
export async function enqueue(on: Queryable, job: JobRequest, options: SqlOptions = {}): Promise<string> {
  const { payload, run_at, ...others } = job;
  const values = {
    ...others,
    ...(payload === undefined ? {} : { payload: JSON.stringify(payload) }),
    ...(run_at === undefined ? {} : { run_at: run_at.toISOString() }),
  };
  return String(await call(on, "enqueue", values, options));
}

/** Requests the cancel of a job. */
export async function cancel(
  on: Queryable,
  job: string,
  more: SqlOptions & { mode?: "soft" | "hard"; reason?: string } = {},
): Promise<void> {
  const { schema, ...values } = more;
  await call(on, "cancel", { job, ...values }, schema === undefined ? {} : { schema });
}

/** Requests a signal to a job. */
export async function signal(
  on: Queryable,
  job: string,
  name: string,
  note?: unknown,
  options: SqlOptions = {},
): Promise<void> {
  await call(on, "signal", { job, name, ...(note === undefined ? {} : { note: JSON.stringify(note) }) }, options);
}

const CASTS: Record<string, string> = {
  type: "text",
  payload: "json",
  idempotency_key: "text",
  queue: "text",
  priority: "int",
  run_at: "timestamptz",
  user_id: "text",
  correlation_id: "text",
  job: "uuid",
  mode: "text",
  reason: "text",
  name: "text",
  note: "json",
};

async function call(
  on: Queryable,
  name: string,
  values: Record<string, unknown>,
  { schema = "tenure" }: SqlOptions,
): Promise<unknown> {
  if (!/^[a-z_][a-z0-9_]*$/.test(schema)) {
    throw new TypeError(`${JSON.stringify(schema)} is not the name of a schema`);
  }
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  const list = given.map(([key], index) => `${key} => $${String(index + 1)}::${CASTS[key] ?? "text"}`);
  const text = `select "${schema}".${name}(${list.join(", ")}) as id`;
  const { rows } = await on.query(text, given.map(([, value]) => value));
  return rows[0]?.id;
}

/** What {@link drizzle} needs of a database or transaction of Drizzle. */
export interface DrizzleExecutor<Query> {
  execute(query: Query): Promise<unknown>;
}

/** What {@link drizzle} needs of Drizzle's `sql`. */
export interface DrizzleSql<Query> {
  (strings: TemplateStringsArray, ...values: unknown[]): Query;
  raw(text: string): Query;
  join(parts: Query[]): Query;
}

/** A transaction of Drizzle as a client of `pg`, with values as parameters. */
export function drizzle<Query>(tx: DrizzleExecutor<Query>, sql: DrizzleSql<Query>): Queryable {
  return {
    async query(text, values) {
      const parts = text.split(/\$\d+/).flatMap((part, index) => {
        const raw = sql.raw(part);
        return index < values.length ? [raw, sql`${values[index]}`] : [raw];
      });
      const result = await tx.execute(sql.join(parts));
      const rows = Array.isArray(result) ? (result as unknown[]) : (result as { rows: unknown[] }).rows;
      return { rows: rows as Record<string, unknown>[] };
    },
  };
}
