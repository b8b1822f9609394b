"""Counts what recordings of agents report, without the reader of recap.

Called with paths; prints one JSON object a line for each: requests that report
usage, prompt and output tokens, tool calls, compactions, and the prompt's tokens by
model as [uncached, read, written for 5 minutes, written for an hour]. It knows the
raw records of each agent and nothing of recap: tests compare the two.
"""

import gzip
import json
import sys

# USD per million tokens that are uncached, read, written for 5 minutes and written for an
# hour, from the providers' price pages in November 2026; no price above a limit is met.
OPUS = [5, 0.5, 6.25, 10]
SONNET = [3, 0.3, 3.75, 6]
PRICES = {
    "claude-opus-4-5": OPUS,
    "claude-opus-4-5-20251101": OPUS,
    "claude-opus-4-6": OPUS,
    "claude-sonnet-4-20250514": SONNET,
    "claude-sonnet-4-5-20250929": SONNET,
    "claude-sonnet-4-6": SONNET,
    "gpt-5-codex": [1.25, 0.125, 0, 0],
    "gpt-5.3-codex": [1.75, 0.175, 0, 0],
    "gpt-5.5": [5, 0.5, 0, 0],
    "openai/gpt-4o-mini": [0.15, 0.075, 0, 0],
    "gemini-2.5-flash": [0.3, 0.03, 0, 0],
    "gemini-2.5-pro": [1.25, 0.125, 0, 0],
    "gemini-3-flash-preview": [0.5, 0.05, 0, 0],
    "gemini-3.1-pro-preview": [2, 0.2, 0, 0],
}


class Count:
    """The sums of one recording."""

    def __init__(self):
        self.requests = self.prompt = self.output = self.calls = self.compactions = 0
        self.usd = 0.0

    def request(self, model, prompt, output):
        """Adds one request with its prompt in disjoint buckets."""
        if sum(prompt) + output == 0:
            return  # a report of nothing is no report
        self.requests += 1
        self.prompt += sum(prompt)
        self.output += output
        prices = PRICES.get(model)
        if prices is None or self.usd is None:
            self.usd = None
        else:
            self.usd += sum(n * price for n, price in zip(prompt, prices)) / 1e6


def lines(text):
    """The objects of a file of JSON lines; a line that is cut off is none."""
    for line in text.split("\n"):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


def blocks(message, kind):
    content = message.get("content")
    content = content if isinstance(content, list) else []
    return [b for b in content if isinstance(b, dict) and b.get("type") == kind]


def claude_code(records):
    count, calls, bounds, responses = Count(), set(), set(), {}
    for record in records:
        if record.get("isSidechain"):
            continue
        if record.get("subtype") == "compact_boundary":
            bounds.add(record["uuid"])
        message = record.get("message") or {}
        if record.get("type") != "assistant" or message.get("model") == "<synthetic>":
            continue
        calls.update(block["id"] for block in blocks(message, "tool_use"))
        # The pieces of a response share its usage; the last one is final.
        responses[message.get("id"), record.get("requestId")] = message
    for message in responses.values():
        usage = message.get("usage") or {}
        written = usage.get("cache_creation_input_tokens") or 0
        hour = (usage.get("cache_creation") or {}).get("ephemeral_1h_input_tokens") or 0
        read = usage.get("cache_read_input_tokens") or 0
        prompt = [usage.get("input_tokens") or 0, read, written - hour, hour]
        count.request(message.get("model"), prompt, usage.get("output_tokens") or 0)
    count.calls, count.compactions = len(calls), len(bounds)
    return count


def codex(records):
    count, model, total = Count(), None, None
    for record in records:
        payload = record.get("payload") or {}
        kind = payload.get("type")
        if record.get("type") == "turn_context":
            model = payload.get("model") or model
        elif record.get("type") == "compacted":
            count.compactions += 1
        elif record.get("type") == "response_item" and kind.endswith("_call"):
            count.calls += 1
        elif kind == "token_count" and payload.get("info"):
            # Written again where only the limits of the plan changed.
            if payload["info"]["total_token_usage"] == total:
                continue
            total = payload["info"]["total_token_usage"]
            last = payload["info"]["last_token_usage"]
            read = last.get("cached_input_tokens") or 0
            count.request(model, [last["input_tokens"] - read, read, 0, 0], last["output_tokens"])
    return count


def gemini_cli(messages):
    count = Count()
    # A line is written again as its message grows.
    for message in {m["id"]: m for m in messages if "id" in m}.values():
        if message["type"] != "gemini":
            continue
        count.calls += len(message.get("toolCalls") or [])
        tokens = message.get("tokens") or {}
        read = tokens.get("cached", 0)
        output = tokens.get("output", 0) + tokens.get("thoughts", 0)
        count.request(message.get("model"), [tokens.get("input", 0) - read, read, 0, 0], output)
    return count


def opencode(session):
    count = Count()
    for message in session["messages"]:
        kinds = [part["type"] for part in message["parts"]]
        count.calls += kinds.count("tool")
        count.compactions += kinds.count("compaction")
        info = message["info"]
        if info["role"] != "assistant" or info.get("summary"):
            continue
        tokens = info["tokens"]
        cache = tokens["cache"]
        prompt = [tokens["input"], cache["read"], cache["write"], 0]
        count.request(info["modelID"], prompt, tokens["output"])
    return count


def pi(records):
    count = Count()
    for record in records:
        count.compactions += record["type"] == "compaction"
        message = record.get("message") or {}
        if message.get("role") != "assistant":
            continue
        count.calls += len(blocks(message, "toolCall"))
        usage = message["usage"]
        prompt = [usage["input"], usage["cacheRead"], usage["cacheWrite"], 0]
        count.request(message.get("model"), prompt, usage["output"])
    return count


def openhands(trajectory):
    count, responses = Count(), {}
    for event in trajectory["history"]:
        call = event.get("tool_call_metadata")
        if call and event.get("source") == "agent":
            count.calls += 1
            responses[call["model_response"]["id"]] = call["model_response"]
    for response in responses.values():
        usage = response["usage"]
        details = usage.get("prompt_tokens_details") or {}
        read = details.get("cached_tokens") or 0
        prompt = [usage["prompt_tokens"] - read, read, 0, 0]
        count.request(response.get("model"), prompt, usage["completion_tokens"])
    return count


def inspect(log):
    count = Count()
    for sample in log["samples"]:
        for message in sample["messages"]:
            count.calls += len(message.get("tool_calls") or [])
        for event in sample["events"]:
            usage = event.get("output", {}).get("usage") if event["event"] == "model" else None
            if usage:
                read = usage.get("input_tokens_cache_read") or 0
                prompt = [usage["input_tokens"] - read, read, 0, 0]
                count.request(event["model"], prompt, usage["output_tokens"])
    return count


def count(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8", errors="replace") as file:
        text = file.read()
    try:
        document = json.loads(text)
    except ValueError:
        document = {}
    if "samples" in document:
        return inspect(document)
    if "messages" in document:
        is_gemini = "projectHash" in document
        return gemini_cli(document["messages"]) if is_gemini else opencode(document)
    records = list(lines(text))
    first = records[0]
    if "projectHash" in first:
        return gemini_cli(records)
    if "history" in first:
        assert len(records) == 1, "one trajectory a file"
        return openhands(first)
    if first.get("type") == "session_meta":
        return codex(records)
    return pi(records) if first.get("type") == "session" else claude_code(records)


if __name__ == "__main__":
    for path in sys.argv[1:]:
        print(json.dumps({"path": path, **vars(count(path))}))
