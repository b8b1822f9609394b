#!/usr/bin/env node
// Starts the program of the package for this platform, which npm installed
// beside this one as an optional dependency.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const platform = `${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "recap.exe" : "recap";

let program;
try {
  program = require.resolve(`@recap-bench/${platform}/${file}`);
} catch {
  console.error(
    `recap-bench: the package @recap-bench/${platform} is not installed. Either there is no build for this\n` +
      "platform, or optional dependencies were left out; `cargo install recap-bench` builds recap anywhere.",
  );
  process.exit(2);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends SIGINT to the program as well, whose report is waited for.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => child.kill("SIGTERM"));
child.on("error", (error) => {
  console.error(`recap-bench: cannot start ${program}: ${error.message}`);
  process.exit(2);
});
child.on("exit", (code, signal) => {
  process.exitCode = signal ? 128 + constants.signals[signal] : code;
});
