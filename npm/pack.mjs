#!/usr/bin/env node
// Packs the npm packages, and prints the path of the tarball:
//   node npm/pack.mjs FOLDER                     recap-bench, which starts the program
//   node npm/pack.mjs FOLDER PLATFORM PROGRAM    @recap-bench/PLATFORM, which holds a built one
// PLATFORM is one of the optional dependencies of npm/package.json, such as linux-x64.

import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const main = JSON.parse(readFileSync(join(root, "npm/package.json"), "utf8"));

/** Copies the program for a platform into the package, and describes it. */
function fill(folder, platform, program) {
  const name = `@recap-bench/${platform}`;
  if (!(name in main.optionalDependencies)) {
    throw new Error(`no platform ${platform}: npm/package.json lists them`);
  }
  const [os, cpu] = platform.split("-");
  const file = os === "win32" ? "recap.exe" : "recap";
  copyFileSync(program, join(folder, file));
  chmodSync(join(folder, file), 0o755);
  const { version, license } = main;
  const description = `The program of recap-bench for ${platform}`;
  const described = { name, version, description, license, files: [file], os: [os], cpu: [cpu] };
  // Nothing is built for musl.
  if (os === "linux") described.libc = ["glibc"];
  writeFileSync(join(folder, "package.json"), JSON.stringify(described, null, 2) + "\n");
}

const [out, platform, program] = process.argv.slice(2);
if (!out || (platform && !program)) {
  console.error("usage: node npm/pack.mjs FOLDER [PLATFORM PROGRAM]");
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), "recap-npm-"));
try {
  if (platform) {
    fill(folder, platform, program);
  } else {
    copyFileSync(join(root, "npm/package.json"), join(folder, "package.json"));
    cpSync(join(root, "npm/bin"), join(folder, "bin"), { recursive: true });
    copyFileSync(join(root, "README.md"), join(folder, "README.md"));
  }
  copyFileSync(join(root, "LICENSE"), join(folder, "LICENSE"));
  mkdirSync(out, { recursive: true });
  const command = ["pack", "--silent", "--pack-destination", resolve(out)];
  const name = execFileSync("npm", command, { cwd: folder, encoding: "utf8" });
  console.log(join(resolve(out), name.trim()));
} finally {
  rmSync(folder, { recursive: true });
}
