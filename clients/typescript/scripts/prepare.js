// Completes the sources for `npm install FOLDER` and `npm pack`: compiles the SDK to dist/, and puts the binary into the package of
// this platform. The binary is that of TENURE_BINARY, or else it is built from this repository, which needs Rust.

import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("..", import.meta.url));
const root = fileURLToPath(new URL("../../..", import.meta.url));
const COMPILER = ["typescript", "@types/node", "@opentelemetry/api"];

/** Compiles in a temporary folder, so that the packages of the compiler are not left here. */
function compile() {
  const { devDependencies } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const build = mkdtempSync(join(tmpdir(), "tenure-build-"));
  try {
    for (const name of ["src", "tsconfig.json", "tsconfig.build.json"]) cpSync(join(folder, name), join(build, name), { recursive: true });
    const dependencies = Object.fromEntries(COMPILER.map((name) => [name, devDependencies[name]]));
    writeFileSync(join(build, "package.json"), JSON.stringify({ private: true, type: "module", dependencies }));
    run("npm", ["install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", "--loglevel=error"], build);
    run(join(build, "node_modules/.bin/tsc"), ["--project", "tsconfig.build.json"], build);
    rmSync(join(folder, "dist"), { recursive: true, force: true });
    cpSync(join(build, "dist"), join(folder, "dist"), { recursive: true });
  } finally {
    rmSync(build, { recursive: true, force: true });
  }
}

function placeBinary() {
  const platform = `${process.platform}-${process.arch}`;
  const target = join(folder, "platforms", platform, "bin/tenure");
  if (!existsSync(join(folder, "platforms", platform, "package.json"))) {
    console.error(`tenure: there is no package for ${platform}; the SDK is installed without the binary`);
    return;
  }
  const given = process.env.TENURE_BINARY;
  if (!given && existsSync(target)) return;
  if (!given && !existsSync(join(root, "crates/cli/Cargo.toml"))) {
    console.error("tenure: set TENURE_BINARY to the path of a binary to bring it with the SDK");
    return;
  }
  mkdirSync(join(target, ".."), { recursive: true });
  copyFileSync(given || built(), target);
  chmodSync(target, 0o755);
}

function built() {
  const build = ["build", "--release", "--locked", "--package", "tenure", "--features", "full", "--message-format", "json-render-diagnostics"];
  const messages = execFileSync("cargo", build, { cwd: root, encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "inherit"] });
  const programs = messages.split("\n").filter((line) => line.includes('"executable":"')).map((line) => JSON.parse(line));
  return programs.find(({ target }) => target.name === "tenure").executable;
}

function run(program, args, cwd) {
  // Settings of the outer npm, such as its prefix, are not those of this one.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_(config_(?!registry|cafile|noproxy|proxy|https)|package|lifecycle|command)/i.test(name)));
  execFileSync(program, args, { cwd, env, stdio: ["ignore", "inherit", "inherit"] });
}

compile();
placeBinary();
