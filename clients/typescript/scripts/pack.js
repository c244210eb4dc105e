// Writes the packages for npm into a folder: `node scripts/pack.js FOLDER`. The SDK names the package of each platform with its exact
// version; here they are folders, so that an installation of the sources asks no registry for them.

import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("..", import.meta.url));
const [, , target] = process.argv;
if (target === undefined) throw new Error("usage: node scripts/pack.js FOLDER");
const out = resolve(target);
mkdirSync(out, { recursive: true });

const pack = (from) => execFileSync("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", out], { cwd: from, stdio: "inherit" });

execFileSync("node", ["scripts/prepare.js"], { cwd: folder, stdio: ["ignore", "inherit", "inherit"] });
const published = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
for (const name of ["scripts", "devDependencies"]) Reflect.deleteProperty(published, name);
for (const name of Object.keys(published.optionalDependencies)) published.optionalDependencies[name] = published.version;
const stage = mkdtempSync(join(tmpdir(), "tenure-pack-"));
try {
  for (const name of ["dist", "bin", "README.md"]) cpSync(join(folder, name), join(stage, name), { recursive: true });
  writeFileSync(join(stage, "package.json"), `${JSON.stringify(published, null, 2)}\n`);
  pack(stage);
} finally {
  rmSync(stage, { recursive: true, force: true });
}
const platforms = readdirSync(join(folder, "platforms")).map((name) => join(folder, "platforms", name));
platforms.filter((platform) => existsSync(join(platform, "bin/tenure"))).forEach(pack);
