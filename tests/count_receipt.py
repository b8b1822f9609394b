#!/usr/bin/env python3
"""Counts the receipt of recordings of Claude Code, Codex, OpenCode and pi without the reader
of recap.

Called with paths; prints one JSON object a line for each: by sender the reported requests and
tokens by kind with their dollars, and by cause the requests that did not read what the
request before had in the cache, with the lost tokens and what these cost above a read. Output
that was written down before it was final is left out, but for subagents. It knows the raw
records of each agent and nothing of recap: tests compare the two.
"""

import datetime
import json
import sys

KINDS = ["input", "cache_read", "cache_write_5m", "cache_write_1h", "output"]
# USD per million tokens of these kinds, from the providers' price pages in November 2026; no
# price above a limit is met.
OPUS = [5, 0.5, 6.25, 10, 25]
SONNET = [3, 0.3, 3.75, 6, 15]
HAIKU = [1, 0.1, 1.25, 2, 5]
PRICES = {
    "claude-opus-4-5": OPUS,
    "claude-opus-4-5-20251101": OPUS,
    "claude-opus-4-6": OPUS,
    "claude-sonnet-4-20250514": SONNET,
    "claude-sonnet-4-5-20250929": SONNET,
    "claude-sonnet-4-6": SONNET,
    "claude-haiku-4-5-20251001": HAIKU,
    "gpt-5-codex": [1.25, 0.125, 1.25, 1.25, 10],
    "gpt-5.3-codex": [1.75, 0.175, 1.75, 1.75, 14],
}
# Providers document no cache of fewer tokens than these.
LEAST = 1024
# Idle seconds after which OpenAI's cache of these models is gone.
OPENAI_LIFE = 600


def lines(path):
    """The objects of a file of JSON lines; a line that is cut off is none."""
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file.read().split("\n"):
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                yield record


def second(text):
    """The seconds of a timestamp in ISO 8601."""
    if not text:
        return None
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def dollars(model, tokens):
    """None without a price."""
    prices = PRICES.get(model)
    return prices and sum(n * price for n, price in zip(tokens, prices)) / 1e6


def plus(one, other):
    return None if one is None or other is None else one + other


class Count:
    """The sums of one recording."""

    def __init__(self):
        self.senders, self.rebuilt = {}, {}
        self.boundary = 0  # compactions so far
        self.written = None  # seconds that the last write lives
        self.last = None

    def spend(self, sender, model, tokens):
        """Adds a request with its tokens in the order of KINDS."""
        if sum(tokens) == 0:
            return
        sums = self.senders.setdefault(sender, {"requests": 0, "usd": 0, "tokens": dict.fromkeys(KINDS, 0)})
        sums["requests"] += 1
        sums["usd"] = plus(sums["usd"], dollars(model, tokens))
        for kind, n in zip(KINDS, tokens):
            sums["tokens"][kind] += n

    def request(self, model, tokens, sent, boundary=None):
        """Adds a request of the main agent, and looks at the one before."""
        self.spend("main", model, tokens)
        boundary = self.boundary if boundary is None else boundary
        prompt = tokens[:4]
        if sum(prompt) == 0:
            return
        if self.last is not None:
            self.compare(self.last, (model, prompt, sent, boundary))
        if prompt[2] + prompt[3] > 0:
            self.written = 3600 if prompt[3] > prompt[2] else 300
        self.last = (model, prompt, sent, boundary)

    def compare(self, before, after):
        model, (uncached, read, minutes, hour), sent, boundary = after
        cached = before[1][1] + before[1][2] + before[1][3]
        lost = min(cached, uncached + read + minutes + hour) - read
        if lost <= LEAST:
            return
        life = self.written or (OPENAI_LIFE if before[0].startswith("gpt") else None)
        if boundary > before[3]:
            cause = "compaction"
        elif model != before[0]:
            cause = "model-change"
        elif sent is None or before[2] is None or life is None:
            cause = "unknown"
        else:
            cause = "idle-gap" if sent - before[2] > life else "changed-prompt"
        # Written for an hour stands first, uncached input last.
        by_hour = min(lost, hour)
        by_minutes = min(lost - by_hour, minutes)
        paid = dollars(model, [lost - by_hour - by_minutes, 0, by_minutes, by_hour, 0])
        above = plus(paid, -(dollars(model, [0, lost, 0, 0, 0]) or 0))
        sums = self.rebuilt.setdefault(cause, {"requests": 0, "tokens": 0, "usd": 0})
        sums["requests"] += 1
        sums["tokens"] += lost
        sums["usd"] = plus(sums["usd"], above)


def anthropic(message, is_told):
    """The tokens that Claude Code reports of a response, in the order of KINDS."""
    usage = message.get("usage") or {}
    written = usage.get("cache_creation_input_tokens") or 0
    hour = (usage.get("cache_creation") or {}).get("ephemeral_1h_input_tokens") or 0
    read = usage.get("cache_read_input_tokens") or 0
    output = usage.get("output_tokens") or 0 if is_told else 0
    return [usage.get("input_tokens") or 0, read, written - hour, hour, output]


def claude_code(path):
    count, responses, subagents, spoken = Count(), {}, {}, None
    seen = set()
    for record in lines(path):
        # A session that goes on elsewhere has records again, with another time.
        if record.get("uuid") in seen:
            continue
        seen.add(record.get("uuid") or len(seen))
        progress = record.get("data") or {}
        if record.get("type") == "progress" and progress.get("type") == "agent_progress":
            said = progress["message"]
            if said.get("type") == "assistant":
                # The pieces of a response share its usage; the last one is final.
                subagents[said["message"]["id"]] = said["message"]
        if str(record.get("subtype")).endswith("compact_boundary"):
            count.boundary += 1
        if record.get("type") not in ("user", "assistant"):
            continue
        message = record["message"]
        if record.get("isSidechain"):
            if record["type"] == "assistant":
                subagents[message["id"]] = message
            continue
        if record["type"] == "assistant" and message.get("model") != "<synthetic>":
            key = message.get("id"), record.get("requestId")
            response = responses.setdefault(key, [spoken, count.boundary, message, False])
            response[2] = message
            # The output is a placeholder until a piece says why the response stopped: recap
            # counts the words then, as far as they are recorded.
            response[3] = response[3] or message.get("stop_reason", "untold") is not None
        spoken = second(record.get("timestamp"))
    for sent, boundary, message, is_told in responses.values():
        tokens = anthropic(message, is_told)
        count.request(message["model"], tokens, sent, boundary)
    for message in subagents.values():
        count.spend("subagent", message["model"], anthropic(message, True))
    return count


def codex(path):
    count, model, total, spoken = Count(), None, None, None
    for record in lines(path):
        payload = record.get("payload") or {}
        kind = payload.get("type") or ""
        if record.get("type") == "turn_context":
            model = payload.get("model") or model
        elif record.get("type") == "compacted":
            count.boundary += 1
        elif record.get("type") == "response_item":
            asks = kind == "message" and payload.get("role") != "assistant"
            if asks or kind.endswith("_output"):
                spoken = second(record.get("timestamp"))
        elif kind == "token_count" and payload.get("info"):
            # Written again where only the limits of the plan changed.
            if payload["info"]["total_token_usage"] == total:
                continue
            total = payload["info"]["total_token_usage"]
            last = payload["info"]["last_token_usage"]
            read = last.get("cached_input_tokens") or 0
            tokens = [last["input_tokens"] - read, read, 0, 0, last["output_tokens"]]
            count.request(model, tokens, spoken)
    return count


def opencode(session):
    count, spoken = Count(), None
    parts = [part for message in session["messages"] for part in message["parts"]]
    states = [part["state"] for part in parts if part["type"] == "tool"]
    cleared = [state["time"]["compacted"] for state in states if "compacted" in state["time"]]
    for message in session["messages"]:
        info = message["info"]
        asked = info["time"]["created"]
        # Results were cleared one by one, all of them at one moment between two requests.
        boundary = count.boundary + sum(at <= asked for at in cleared)
        if info["role"] == "assistant":
            tokens = info["tokens"]
            cache = tokens["cache"]
            tokens = [tokens["input"], cache["read"], cache["write"], 0, tokens["output"]]
            if info.get("summary"):
                count.spend("compaction", info["modelID"], tokens)
                count.boundary += 1
            else:
                count.request(info["modelID"], tokens, spoken, boundary)
        spoken = asked / 1000
    return count


def pi(path):
    count, spoken = Count(), None
    for record in lines(path):
        count.boundary += record["type"] == "compaction"
        message = record.get("message") or {}
        if message.get("role") == "assistant":
            usage = message["usage"]
            names = ["input", "cacheRead", "cacheWrite"]
            is_told = message.get("stopReason") != "aborted"
            tokens = [usage[name] for name in names] + [0, usage["output"] if is_told else 0]
            count.request(message.get("model"), tokens, spoken)
        spoken = second(record.get("timestamp")) if message else spoken
    return count


def count(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return opencode(json.load(file))
    except ValueError:
        pass
    first = next(lines(path))
    if first.get("type") == "session_meta":
        return codex(path)
    return pi(path) if first.get("type") == "session" else claude_code(path)


if __name__ == "__main__":
    for path in sys.argv[1:]:
        found = count(path)
        print(json.dumps({"path": path, "senders": found.senders, "rebuilt": found.rebuilt}))
