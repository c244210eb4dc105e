// Writes src/generated.ts from the server's API description. With --check it only compares.
// --openapi FILE reads another description than the one of this repository.

import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

import openapiTypescript, { astToString } from "openapi-typescript";

const HEADER = "// Generated from crates/api/openapi.json by `npm run generate`.\n\n";

const { values } = parseArgs({ options: { check: { type: "boolean" }, openapi: { type: "string" } } });
const source = values.openapi
  ? pathToFileURL(values.openapi)
  : new URL("../../../crates/api/openapi.json", import.meta.url);
const target = new URL("../src/generated.ts", import.meta.url);

const options = { rootTypes: true, rootTypesNoSchemaPrefix: true, alphabetize: true };
const text = HEADER + astToString(await openapiTypescript(source, options));

if (!values.check) {
  await writeFile(target, text);
} else if ((await readFile(target, "utf8").catch(() => "")) !== text) {
  console.error(`${fileURLToPath(target)} differs from the API description: run \`npm run generate\``);
  process.exitCode = 1;
}
