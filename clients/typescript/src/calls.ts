/** Calls typed by the API description: path, method, parameters and body of a call must be those of the description. */

import { toSpan } from "./duration.js";
import type { Duration } from "./duration.js";
import type { paths } from "./generated.js";
import { freshId } from "./ids.js";
import type { Request, Transport } from "./transport.js";

type Method = "get" | "post" | "put" | "delete";
type Operation<P extends keyof paths, M extends Method> = NonNullable<paths[P][M]>;
type Parameters<Op> = Op extends { parameters: infer All } ? All : never;

/** The paths that have this method. */
export type PathOf<M extends Method> = {
  [P in keyof paths]: Operation<P, M> extends never ? never : P;
}[keyof paths];

/** The body of a call. */
export type Body<P extends keyof paths, M extends Method = "post"> =
  Operation<P, M> extends { requestBody?: infer R }
    ? NonNullable<R> extends { content: { "application/json": infer B } }
      ? B
      : undefined
    : undefined;

/** The query of a call. */
export type Query<P extends keyof paths> = Parameters<Operation<P, "get">> extends { query?: infer Q } ? NonNullable<Q> : never;

type Success<R> = { [S in keyof R]: S extends 200 | 201 | 202 ? R[S] : never }[keyof R];

/** The answer of a call. */
export type AnswerOf<P extends keyof paths, M extends Method> =
  Operation<P, M> extends { responses: infer R }
    ? Success<R> extends infer S
      ? S extends { content: { "application/json": infer A } }
        ? A
        : never
      : never
    : never;

/** Values for the names in a path; none for a path without names. */
type Path<P extends string> = P extends `${string}{${string}}${infer Rest}` ? [value: string, ...Path<Rest>] : [];

/** Fills the names in a path with escaped values. */
export function pathOf<P extends keyof paths>(path: P, ...values: Path<P>): string {
  const rest = [...(values as string[])];
  return path.replace(/\{[^}]+\}/g, () => encodeURIComponent(rest.shift() ?? ""));
}

/** Adds a query; fields without a value are omitted. */
export function withQuery(path: string, query: object): string {
  const given = Object.entries(query as Record<string, unknown>).filter(([, value]) => value !== undefined && value !== null);
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)] as [string, string])).toString();
  return text ? `${path}?${text}` : path;
}

/** Reads something. */
export function get<P extends PathOf<"get">>(
  transport: Transport,
  path: P,
  values: Path<P>,
  query: Query<P> | Record<string, never> = {},
): Promise<AnswerOf<P, "get">> {
  return transport.json({ method: "GET", path: withQuery(pathOf(path, ...values), query) });
}

/** Changes something, with a fresh key, so that it can be retried. */
export function change<P extends PathOf<"post">>(
  transport: Transport,
  path: P,
  values: Path<P>,
  body: Body<P> | undefined,
  more: Partial<Request> = { key: freshId() },
): Promise<AnswerOf<P, "post">> {
  const given: unknown = body;
  return transport.json({ method: "POST", path: pathOf(path, ...values), body: JSON.stringify(given ?? {}), ...more });
}

/** Replaces something. */
export function put<P extends PathOf<"put">>(
  transport: Transport,
  path: P,
  values: Path<P>,
  body: Body<P, "put">,
): Promise<AnswerOf<P, "put">> {
  return transport.json({ method: "PUT", path: pathOf(path, ...values), body: JSON.stringify(body), key: freshId() });
}

/** Deletes something. */
export function remove<P extends PathOf<"delete">>(
  transport: Transport,
  path: P,
  values: Path<P>,
): Promise<AnswerOf<P, "delete">> {
  return transport.json({ method: "DELETE", path: pathOf(path, ...values) });
}

/** The type with durations as numbers or texts, where the API has texts only. */
export type WithDurations<T, Names extends keyof T> = Omit<T, Names> & Partial<Record<Names, Duration | null | undefined>>;

/** Writes the durations among these fields as the API does. */
export function spans<T extends object>(fields: T, names: (keyof T)[]): object {
  const written = names.flatMap((name) => {
    const value = fields[name] as Duration | null | undefined;
    return value === undefined || value === null ? [] : [[name, toSpan(value)] as const];
  });
  return { ...fields, ...Object.fromEntries(written) };
}
