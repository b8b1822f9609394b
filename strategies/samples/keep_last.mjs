// Keeps the newest messages and says in one line what was dropped.
//
// A strategy for recap in Node, without packages: one JSON object a line on
// standard input and output. `docs/program.md` describes the messages.

import { createInterface } from "node:readline";

// The first place from `start` on that parts no result from its call.
function whole(messages, start) {
  const made = new Map();
  messages.forEach((m, at) => (m.calls ?? []).forEach((call) => made.set(call.id, at)));
  let oldest = messages.length;
  let first = messages.length;
  for (let at = messages.length - 1; at >= start; at -= 1) {
    const call = messages[at].result_of;
    if (call) oldest = Math.min(oldest, made.get(call.id) ?? -1);
    if (oldest >= at) first = at;
  }
  return first;
}

// Where the newest messages within a number of tokens begin.
function newest(messages, tokens) {
  let start = messages.length;
  while (start > 0 && messages[start - 1].tokens <= tokens) {
    start -= 1;
    tokens -= messages[start].tokens;
  }
  return whole(messages, start);
}

// The answer to one compaction. `dropped` counts, by role, what is gone.
function compact(request, messages, dropped) {
  // System prompt and tools are no messages, and take their part of the target.
  const size = messages.reduce((sum, m) => sum + m.tokens, 0);
  const around = Math.max(0, (request.believed ?? size) - size);
  const start = newest(messages, request.target - around);
  const kept = messages.slice(start).map((m) => ({ id: m.id }));
  if (start === 0) return kept;
  for (const m of messages.slice(0, start)) {
    // Those that begin with s are our own lines of the last times.
    if (!m.id.startsWith("s")) dropped[m.role] = (dropped[m.role] ?? 0) + 1;
  }
  const counts = Object.keys(dropped).sort().map((role) => `${dropped[role]} ${role}`);
  const text = `[Earlier messages were dropped: ${counts.join(", ")}]`;
  return [{ role: "user", text }, ...kept];
}

const known = new Map();
let dropped = {};

function answer(request) {
  if (request.type === "open") {
    dropped = request.state ?? {};
    return { type: "ready" };
  }
  request.messages.forEach((m) => known.set(m.id, m));
  const messages = request.context.map((id) => known.get(id));
  return { type: "context", messages: compact(request, messages, dropped), state: dropped };
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  if (request.type === "close") break;
  process.stdout.write(`${JSON.stringify(answer(request))}\n`);
}
