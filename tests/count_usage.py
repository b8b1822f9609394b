"""Counts what recordings of agents report, without the reader of recap.

Called with the paths of one input; prints one JSON object a line for each file:
responses that report usage, their calls of models (`requests`; a response of several
iterations is several), prompt and output tokens, tool calls, compactions, dollars (null
where a model has no price here), reported dollars, and by model the calls and tokens
[requests, uncached, read, written for 5 minutes, written for an hour, output]. What
stands in several files counts in the one with most responses. Subagents within a file
are summed apart (`side`); `kinds` are parts of these sums by what counters disagree
about. It knows the raw records of each agent and nothing of recap: tests compare the two.
"""

import datetime
import gzip
import hashlib
import json
import sqlite3
import sys

# USD per million tokens that are uncached, read, written for 5 minutes, written for an hour
# and output, from the providers' price pages in November 2026. No price above a length of
# the prompt is met.
FABLE = [10, 1, 12.5, 20, 50]
OPUS = [5, 0.5, 6.25, 10, 25]
SONNET = [3, 0.3, 3.75, 6, 15]
SONNET_5 = [2, 0.2, 2.5, 4, 10]
HAIKU = [1, 0.1, 1.25, 2, 5]
PRICES = {
    "claude-fable-5": FABLE,
    "claude-opus-4-5": OPUS,
    "claude-opus-4-5-20251101": OPUS,
    "claude-opus-4-6": OPUS,
    "claude-opus-4-8": OPUS,
    "claude-opus-5": OPUS,
    "claude-sonnet-4-20250514": SONNET,
    "claude-sonnet-4-5": SONNET,
    "claude-sonnet-4-5-20250929": SONNET,
    "claude-sonnet-4-6": SONNET,
    "claude-sonnet-4.6": SONNET,
    "claude-sonnet-5": SONNET_5,
    "claude-haiku-4-5-20251001": HAIKU,
    "anthropic/claude-haiku-4.5": HAIKU,
    "gpt-4.1": [2, 0.5, 0, 0, 8],
    "gpt-4.1-mini": [0.4, 0.1, 0, 0, 1.6],
    "gpt-5-codex": [1.25, 0.125, 0, 0, 10],
    "gpt-5.3-codex": [1.75, 0.175, 0, 0, 14],
    "gpt-5.5": [5, 0.5, 0, 0, 30],
    "gpt-5.6-sol": [4, 0.4, 5, 0, 20],
    "gpt-5.6-terra": [2, 0.2, 2.5, 0, 12],
    "kimi-k3": [3, 0.3, 0, 0, 15],
    "openai/gpt-4o-mini": [0.15, 0.075, 0, 0, 0.6],
    "gemini-2.5-flash": [0.3, 0.03, 0, 0, 2.5],
    "gemini-2.5-pro": [1.25, 0.125, 0, 0, 10],
    "gemini-3-flash-preview": [0.5, 0.05, 0, 0, 3],
    "gemini-3.1-pro-preview": [2, 0.2, 0, 0, 12],
}
# What a request in fast mode or within a country costs times the list price.
FAST, GEO = 2.0, {"us": 1.1}


class Recording:
    """What one file holds: responses, tool calls and compactions, each by what tells it
    apart in all files."""

    def __init__(self):
        self.responses = {}
        self.calls = {}
        self.compactions = set()
        self.sides = set()
        self.kinds = {}
        self.reported = {}
        self.misses = {}
        self.subagents = set()
        self.stopped = set()
        self.synthetic = set()

    def response(self, key, calls):
        """A response of `calls`: [model, [uncached, read, 5m, 1h, output], factor]."""
        calls = [call for call in calls if sum(call[1])]  # a report of nothing is no report
        if calls:
            self.responses[key] = calls

    def kind(self, key, kind, model, row, usd=0.0):
        """A part of a response: [requests, uncached, read, 5m, 1h, output], or dollars."""
        self.kinds[key, kind] = (model or "", row, usd)

    def tools(self, key, ids):
        self.calls.setdefault(key, set()).update(ids)


class Count:
    """The sums of what is a file's own."""

    def __init__(self):
        self.responses = self.requests = self.prompt = self.output = 0
        self.prompt_usd = self.usd = 0.0
        self.models = {}

    def add(self, calls):
        self.responses += 1
        for model, tokens, factor in calls:
            self.requests += 1
            self.prompt += sum(tokens[:4])
            self.output += tokens[4]
            row = self.models.setdefault(model or "", [0] * 6)
            self.models[model or ""] = [a + b for a, b in zip(row, [1, *tokens])]
            prices = PRICES.get(model)
            if prices is None or self.usd is None:
                self.usd = self.prompt_usd = None
            else:
                usd = [n * price * factor / 1e6 for n, price in zip(tokens, prices)]
                self.usd += sum(usd)
                self.prompt_usd += sum(usd[:4])


def lines(text):
    """The objects of a file of JSON lines; a line that is cut off is none."""
    for line in text.split("\n"):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


def blocks(message, *kinds):
    content = message.get("content")
    content = content if isinstance(content, list) else []
    return [b for b in content if isinstance(b, dict) and b.get("type") in kinds]


def told_apart(*what):
    """A key for what has no id: its time, usage and a hash of its text."""
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


def anthropic_calls(model, usage):
    """The calls of a response: its iterations where it lists them, or the response."""
    factor = FAST if usage.get("speed") == "fast" else 1.0
    factor *= GEO.get(usage.get("inference_geo"), 1.0)
    calls = []
    for one in usage.get("iterations") or [usage]:
        written = one.get("cache_creation_input_tokens") or 0
        hour = (one.get("cache_creation") or {}).get("ephemeral_1h_input_tokens") or 0
        read = one.get("cache_read_input_tokens") or 0
        tokens = [one.get("input_tokens") or 0, read, written - hour, hour]
        tokens.append(one.get("output_tokens") or 0)
        calls.append([one.get("model") or model, tokens, factor])
    return calls


def openai_call(model, usage):
    """A call as OpenAI reports it: what is read or written is part of the input."""
    prompt = usage.get("input_tokens", usage.get("prompt_tokens")) or 0
    details = usage.get("input_tokens_details") or usage.get("prompt_tokens_details") or usage
    read = details.get("cached_tokens", details.get("cached_input_tokens")) or 0
    written = details.get("cache_write_tokens", details.get("cache_write_input_tokens")) or 0
    output = usage.get("output_tokens", usage.get("completion_tokens")) or 0
    return [model, [prompt - read - written, read, written, 0, output], 1.0]


def anthropic_kinds(recording, key, message, is_progress, is_side):
    """What other counters leave out of a response, or count otherwise."""
    model, usage = message.get("model"), message.get("usage") or {}
    calls = anthropic_calls(model, usage)
    first, tokens, factor = calls[0]
    if is_progress:
        recording.kind(key, "subagent in progress records", model, [1, *tokens])
    elif first != model and len(calls) > 1 and usage["iterations"][0].get("type") == "message":
        recording.kind(key, "attempt that another model took over", first, [1, *tokens])
    ours = sum(model in (name, None) for name, *_ in calls)
    if ours > 1:
        recording.kind(key, "iterations of a response", model, [ours - 1, 0, 0, 0, 0, 0])
    # The output is a placeholder until a piece says why the response stopped.
    if message.get("stop_reason", "untold") is not None:
        recording.kinds.pop((key, "output not final"), None)
        recording.stopped.add(key)
    elif not is_side and key not in recording.stopped:
        recording.kind(key, "output not final", model, [0] * 5 + [tokens[4]])
    if usage.get("inference_geo") in GEO:
        count = Count()
        count.add(calls)
        share = 1 - 1 / GEO[usage["inference_geo"]]
        recording.kind(key, "inference within a country", model, [0] * 6, (count.usd or 0) * share)


def taken_back(recording, records):
    """Responses that nothing continues, with another one from the same place: their text is
    shown to nobody, and recap replays what went on."""
    records = [record for record in records if record.get("type") in ("user", "assistant")]
    continued, answers = {record.get("parentUuid") for record in records}, {}
    for record in records:
        if record["type"] == "assistant" and record.get("uuid"):
            key = response_key(record)
            answers.setdefault(record.get("parentUuid"), {}).setdefault(key, []).append(record)
    for responses in answers.values():
        for key, pieces in list(responses.items())[:-1]:
            if not any(piece["uuid"] in continued for piece in pieces):
                message = pieces[-1]["message"]
                for model, tokens, _ in anthropic_calls(message["model"], message["usage"]):
                    recording.kinds.pop((key, "output not final"), None)
                    recording.kind(key, "response that was taken back", model, [1, *tokens])


def response_key(record):
    """Tells a response of Claude Code apart from all others."""
    message = record["message"]
    usage = message.get("usage") or {}
    if not message.get("id"):
        return told_apart(record.get("timestamp"), usage, message.get("content"))
    # A proxy may give each response one id, and no id of the request.
    prompt = [usage.get(name) for name in usage if name.endswith("input_tokens")]
    return told_apart(message["id"], record.get("requestId") or prompt)


def claude_code(recording, records):
    for record in records:
        if record.get("subtype") == "compact_boundary":
            recording.compactions.add(record["uuid"])
        progress = record.get("data") or {}
        is_progress = record.get("type") == "progress" and progress.get("type") == "agent_progress"
        if is_progress:
            record = progress["message"]
        message = record.get("message") or {}
        if record.get("type") != "assistant":
            continue
        if message.get("model") == "<synthetic>":
            recording.synthetic.add(message.get("id"))
            continue
        usage = message.get("usage") or {}
        key = response_key(record)
        # The pieces of a response share its usage; the last one is final.
        recording.response(key, anthropic_calls(message.get("model"), usage))
        is_side = bool(record.get("isSidechain") or is_progress)
        anthropic_kinds(recording, key, message, is_progress, is_side)
        if is_side:
            recording.sides.add(key)
        tools = blocks(message, "tool_use")
        recording.tools(key, [block["id"] for block in tools])
        agents = [block["id"] for block in tools if block.get("name") in ("Task", "Agent")]
        recording.subagents.update((key, id) for id in agents)
        reason = (message.get("diagnostics") or {}).get("cache_miss_reason") or {}
        if reason.get("type"):
            recording.misses[key] = reason["type"]
    taken_back(recording, records)


def seconds(timestamp):
    return datetime.datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp()


def codex(recording, records, family):
    """A fork begins with a copy of what its parent wrote, at new times; the sums so far
    stay those of the parent, and so tell a turn apart in the family of a thread."""
    model, total, compacted = None, None, None
    place = 0
    for record in records:
        payload = record.get("payload") or {}
        kind = payload.get("type")
        place += 1
        if record.get("type") == "turn_context":
            model = payload.get("model") or model
        elif record.get("type") == "compacted":
            # One compaction is written several times within a second.
            time = seconds(record["timestamp"])
            if compacted is None or time - compacted > 1:
                recording.compactions.add(told_apart(family, total, payload))
            compacted = time
        elif record.get("type") == "response_item" and kind.endswith("_call"):
            id = payload.get("call_id") or payload.get("id") or place
            recording.tools(told_apart(family, id), [id])
        elif kind == "token_count" and payload.get("info"):
            # Written again where only the limits of the plan changed.
            if payload["info"]["total_token_usage"] == total:
                continue
            total = payload["info"]["total_token_usage"]
            key = told_apart(family, total, payload["info"]["last_token_usage"])
            recording.response(key, [openai_call(model, payload["info"]["last_token_usage"])])


def families(files):
    """The root of each thread of Codex: the parent's, of a fork."""
    parents = {}
    for records in files:
        ids = []
        for record in records:
            if record.get("type") == "session_meta":
                ids += [record["payload"].get("id"), record["payload"].get("forked_from_id")]
        for child, parent in zip(ids, ids[1:]):
            if child and parent and parent != child and parent not in ids[: ids.index(child)]:
                parents.setdefault(child, parent)
    roots = {}
    for thread in parents:
        root, seen = thread, set()
        while root in parents and root not in seen:
            seen.add(root)
            root = parents[root]
        roots[thread] = root
    return roots


def gemini_cli(recording, messages):
    # A line is written again as its message grows.
    for message in {m["id"]: m for m in messages if "id" in m}.values():
        if message["type"] != "gemini":
            continue
        key = told_apart(message["id"], message.get("timestamp"))
        recording.tools(key, range(len(message.get("toolCalls") or [])))
        tokens = message.get("tokens") or {}
        read = tokens.get("cached", 0)
        thoughts = tokens.get("thoughts", 0)
        output = tokens.get("output", 0) + thoughts
        model = message.get("model")
        recording.kind(key, "thoughts beside the output", model, [0] * 5 + [thoughts])
        prompt = [tokens.get("input", 0) - read, read, 0, 0]
        recording.response(key, [[model, [*prompt, output], 1.0]])


def opencode_call(model, tokens):
    cache = tokens["cache"]
    prompt = [tokens["input"], cache["read"], cache["write"], 0]
    return [model, [*prompt, tokens["output"]], 1.0]


def opencode(recording, messages):
    for message in messages:
        info = message["info"]
        key = told_apart(info["id"], info["time"], info.get("tokens"))
        kinds = [part["type"] for part in message["parts"]]
        recording.tools(key, range(kinds.count("tool")))
        recording.compactions.update([key] * kinds.count("compaction"))
        if info["role"] != "assistant":
            continue
        tokens, model = info["tokens"], info["modelID"]
        if not info.get("summary"):
            recording.response(key, [opencode_call(model, tokens)])
        recording.reported[key] = info.get("cost") or 0
        sums = tokens["input"] + tokens["output"] + sum(tokens["cache"].values())
        if tokens.get("total") == sums:
            recording.kind(key, "reasoning within output", model, [0] * 5 + [tokens["reasoning"]])


def opencode_database(recording, path):
    """Both tables: OpenCode 2 leaves the sessions of its first version where they are."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        tables = {name for (name,) in database.execute("select name from sqlite_master")}
        rows = lambda of, order: database.execute(f"select {of} order by {order}") if (
            of.split()[-1] in tables
        ) else []
        parts = {}
        for message, data in rows("message_id, data from part", "id"):
            parts.setdefault(message, []).append(json.loads(data))
        old = [
            {"info": {"id": id, **json.loads(data)}, "parts": parts.get(id, [])}
            for id, data in rows("id, data from message", "id")
        ]
        opencode(recording, old)
        rows = rows("id, type, data from session_message", "seq")
        for id, kind, data in rows:
            data, key = json.loads(data), told_apart(id)
            if "tokens" not in data:
                continue
            tokens, model = data["tokens"], (data.get("model") or {}).get("id")
            tokens["output"] += tokens["reasoning"]
            name, row, _ = opencode_call(model, tokens)
            if kind == "compaction":
                recording.compactions.add(key)
                # It names no model: that of the last response wrote it.
                recording.kind(key, "usage of a compaction", name or last, [1, *row])
            elif kind == "assistant":
                last = name
                recording.response(key, [[name, row, 1.0]])
                recording.tools(key, [block["id"] for block in blocks(data, "tool")])
                recording.reported[key] = data.get("cost") or 0


def pi(recording, records):
    for record in records:
        message = record.get("message") or {}
        key = told_apart(record.get("timestamp"), message or record)
        if record["type"] == "compaction":
            recording.compactions.add(key)
        if message.get("role") != "assistant":
            continue
        recording.tools(key, [block["id"] for block in blocks(message, "toolCall")])
        usage = message["usage"]
        prompt = [usage["input"], usage["cacheRead"], usage["cacheWrite"], 0]
        recording.response(key, [[message.get("model"), [*prompt, usage["output"]], 1.0]])
        if message.get("stopReason") == "aborted":
            row = [0] * 5 + [usage["output"]]
            recording.kind(key, "output not final", message.get("model"), row)


def openhands(recording, trajectory):
    for event in trajectory["history"]:
        call = event.get("tool_call_metadata")
        if call and event.get("source") == "agent":
            response = call["model_response"]
            key = told_apart(response["id"], response["usage"])
            recording.tools(key, [event["id"]])
            recording.response(key, [openai_call(response.get("model"), response["usage"])])


def inspect(recording, log):
    for sample in log["samples"]:
        for place, message in enumerate(sample["messages"]):
            calls = message.get("tool_calls") or []
            recording.tools(told_apart(sample["id"], place, message), range(len(calls)))
        for place, event in enumerate(sample["events"]):
            usage = event.get("output", {}).get("usage") if event["event"] == "model" else None
            if usage:
                read = usage.get("input_tokens_cache_read") or 0
                tokens = [usage["input_tokens"] - read, read, 0, 0, usage["output_tokens"]]
                key = told_apart(event.get("timestamp"), place, usage, event["output"])
                recording.response(key, [[event["model"], tokens, 1.0]])


def requests_and_responses(recording, records):
    """Logs of the bodies of Anthropic's or OpenAI's API."""
    for record in records:
        response = record["response"]
        usage, key = response.get("usage") or {}, told_apart(response["id"])
        is_anthropic = response.get("type") == "message"
        calls = anthropic_calls if is_anthropic else lambda *report: [openai_call(*report)]
        recording.response(key, calls(response.get("model"), usage))
        recording.compactions.update([key] * len(blocks(response, "compaction")))


def attributes(span):
    """The attributes of a span that are one value."""
    return {a["key"]: next(iter(a["value"].values()), None) for a in span.get("attributes") or []}


def otel(recording, exports):
    for export in exports:
        scopes = [scope for one in export["resourceSpans"] for scope in one["scopeSpans"]]
        for span in [span for scope in scopes for span in scope["spans"]]:
            found = attributes(span)
            tokens = lambda *names: next((int(found[n]) for n in names if n in found), 0)
            usage = "gen_ai.usage."
            prompt = tokens(usage + "input_tokens")
            read = tokens(usage + "cache_read.input_tokens", usage + "input_tokens.cached")
            hour = tokens(usage + "input_tokens.cache_write_1h")
            written = tokens(
                usage + "cache_write.input_tokens", usage + "input_tokens.cache_write"
            )
            split = [prompt - read - written, read, written - hour, hour]
            model = found.get("gen_ai.response.model")
            key = told_apart(found.get("gen_ai.response.id"), span["spanId"])
            recording.response(key, [[model, [*split, tokens(usage + "output_tokens")], 1.0]])
            recording.reported[key] = found.get(usage + "total_cost") or 0


def mini_swe_agent(recording, trajectory):
    for message in trajectory["messages"]:
        extra = message.get("extra") or {}
        response = extra.get("response")
        if response:
            key = told_apart(response["id"], extra.get("timestamp"), response["usage"])
            recording.response(key, [openai_call(response.get("model"), response["usage"])])
            recording.tools(key, [call["id"] for call in message.get("tool_calls") or []])
            recording.reported[key] = extra.get("cost") or 0


def copilot(recording, records):
    """The sums of a session, written as it ends; a resumed session writes them anew."""
    for record in records:
        data = record.get("data") or {}
        calls = data.get("toolRequests") or []
        recording.tools(record["id"], [call["toolCallId"] for call in calls])
        if record["type"] == "session.compaction_complete" and data.get("success"):
            recording.compactions.add(record["id"])
        if record["type"] != "session.shutdown":
            continue
        for model, metrics in (data.get("modelMetrics") or {}).items():
            usage, requests = metrics["usage"], metrics["requests"]["count"]
            read, written = usage["cacheReadTokens"], usage["cacheWriteTokens"]
            plain = usage["inputTokens"] - read - written
            calls = [[model, [plain, read, written, 0, usage["outputTokens"]], 1.0]]
            # The sum stands on the first of its requests.
            calls += [[model, [0] * 5, 1.0]] * (requests - 1)
            recording.responses[told_apart(record["id"], model)] = calls


def kimi_model(records):
    """The alias that usage is told under, and the model of the requests, as they are written."""
    named = [r["model"] for r in records if r.get("type") == "llm.request"]
    alias = [r["model"] for r in records if r.get("type") == "usage.record"]
    written = lambda name: f'"model":"{name}"'.encode()
    return written((alias or [""])[0]), written((named or alias or [""])[0])


def kimi_code(recording, records):
    model = None
    for place, record in enumerate(records):
        key = told_apart(place, record)
        event = record.get("event") or {}
        if record.get("type") == "llm.request":
            model = record.get("model") or model
        elif event.get("type") == "tool.call":
            recording.tools(key, [event["toolCallId"]])
        elif record.get("type") == "usage.record":
            usage = record["usage"]
            names = ["inputOther", "inputCacheRead", "inputCacheCreation"]
            tokens = [usage[name] for name in names]
            row, name = [*tokens, 0, usage["output"]], model or record["model"]
            # A compaction's call is no response.
            if record.get("usageScope") == "session":
                recording.kind(key, "usage of a compaction", name, [1, *row])
            else:
                recording.response(key, [[name, row, 1.0]])
        elif record.get("type") == "context.apply_compaction":
            recording.compactions.add(key)


def aider(recording, text):
    """Rounded sizes: 2.4k."""
    size = lambda word: round(float(word.rstrip("k")) * (1000 if word.endswith("k") else 1))
    model = None
    for place, line in enumerate(text.split("\n")):
        words = line.split()
        if line.startswith("> Main model: "):
            model = words[3]
        if line.startswith("> Tokens: "):
            tokens = [size(words[2]), 0, 0, 0, size(words[4])]
            recording.response(told_apart(place, line), [[model, tokens, 1.0]])
            recording.reported[told_apart(place, line)] = float(words[7].lstrip("$"))


def load(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rb") as file:
        return file.read()


def opened(path, data):
    """The agent that wrote a file, and what it holds."""
    if data.startswith(b"SQLite format 3"):
        return "opencode database", path
    text = data.decode("utf-8", "replace")
    if path.endswith(".md"):
        return "aider", text
    try:
        document = json.loads(text)
    except ValueError:
        document = {}
    document = document if isinstance(document, dict) else {}
    records = [document] if document else list(lines(text))
    first = next(iter(records), {})
    kinds = {"session_meta": "codex", "session.start": "copilot"}
    kinds |= {"metadata": "kimi", "session": "pi"}
    if "samples" in document:
        return "inspect", document
    if "trajectory_format" in document:
        return "mini-swe-agent", document
    if "projectHash" in first:
        return "gemini", document.get("messages") or records
    if "info" in document:
        return "opencode", document["messages"]
    if "resourceSpans" in first:
        return "otel", records
    if "history" in first:
        assert len(records) == 1, "one trajectory a file"
        return "openhands", first
    if "request" in first and "response" in first:
        return "requests", records
    return kinds.get(first.get("type"), "claude"), records


READERS = {
    "aider": aider,
    "claude": claude_code,
    "copilot": copilot,
    "gemini": gemini_cli,
    "inspect": inspect,
    "kimi": kimi_code,
    "mini-swe-agent": mini_swe_agent,
    "opencode": opencode,
    "opencode database": opencode_database,
    "openhands": openhands,
    "otel": otel,
    "pi": pi,
    "requests": requests_and_responses,
}


def read(path, data, family):
    recording = Recording()
    kind, held = opened(path, data)
    if kind == "codex":
        thread = held[0]["payload"].get("id")
        codex(recording, held, family.get(thread, thread))
    else:
        READERS[kind](recording, held)
    return recording


def count(paths):
    """The figures of each file of an input: what several hold is the longest's."""
    data = {path: load(path) for path in paths}
    threads = [text for text in data.values() if b'"session_meta"' in text[:4000]]
    family = families(lines(text.decode("utf-8", "replace")) for text in threads)
    recordings = {path: read(path, data[path], family) for path in paths}
    owner = {}
    for path in sorted(paths, key=lambda path: (-len(recordings[path].responses), path)):
        one = recordings[path]
        marked = [key for key, _ in one.kinds]
        for key in [*one.responses, *one.calls, *one.compactions, *marked]:
            owner.setdefault(key, path)
    for path, one in recordings.items():
        own = lambda keys: [key for key in keys if owner[key] == path]
        main, side = Count(), Count()
        for key in own(one.responses):
            (side if key in one.sides else main).add(one.responses[key])
        calls = sum(len(one.calls[key]) for key in own(one.calls) if key not in one.sides)
        reasons = [one.misses[key] for key in own(one.responses) if key in one.misses]
        kinds = {}
        for (key, kind), (model, row, usd) in one.kinds.items():
            if owner.get(key) == path:
                sums = kinds.setdefault(kind, {}).setdefault(model, [0] * 7)
                kinds[kind][model] = [a + b for a, b in zip(sums, [*row, usd])]
        yield {
            "path": path,
            **vars(main),
            "calls": calls,
            "compactions": len(own(one.compactions)),
            "reported_usd": sum(usd for key, usd in one.reported.items() if owner.get(key) == path),
            "subagents": sum(owner.get(key) == path for key, _ in one.subagents),
            "misses": {reason: reasons.count(reason) for reason in sorted(set(reasons))},
            "shared": len(one.responses) - len(own(one.responses)),
            "synthetic": len(one.synthetic),
            "kinds": kinds,
            "side": vars(side),
        }


if __name__ == "__main__":
    for row in count(sys.argv[1:]):
        print(json.dumps(row))
