/** Where the `tenure` binary is: in the package of this platform. */

import { accessSync, constants } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

/** The binary: that of `TENURE_BINARY`, or else the one that came with this package; `undefined` if there is none. */
export function binaryPath(): string | undefined {
  if (process.env.TENURE_BINARY) return process.env.TENURE_BINARY;
  const platform = `${process.platform}-${process.arch}`;
  const installed = () => createRequire(import.meta.url).resolve(`@tenure/${platform}/bin/tenure`);
  // In the folder of the sources, `npm install` puts it here.
  const prepared = () => fileURLToPath(new URL(`../platforms/${platform}/bin/tenure`, import.meta.url));
  for (const find of [prepared, installed]) {
    try {
      const path = find();
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // The next place.
    }
  }
  return undefined;
}
