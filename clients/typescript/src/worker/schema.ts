/** The part of the Standard Schema interface (version 1) that the worker uses: zod, valibot, arktype and others have it. */

export interface StandardSchema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Validated<Output> | Promise<Validated<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

type Validated<Output> = { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly Issue[] };

interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The value that a schema makes of a payload. */
export type Output<S extends StandardSchema> = NonNullable<S["~standard"]["types"]>["output"];

/** Parses a payload; throws an error that names every issue. */
export async function parse(schema: StandardSchema, payload: unknown): Promise<unknown> {
  const result = await schema["~standard"].validate(payload);
  if (result.issues) throw new TypeError(result.issues.map(issueText).join("; "));
  return result.value;
}

function issueText({ path = [], message }: Issue): string {
  const names = path.map((part) => String(typeof part === "object" ? part.key : part));
  return names.length > 0 ? `${names.join(".")}: ${message}` : message;
}
