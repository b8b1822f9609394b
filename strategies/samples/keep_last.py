"""Keeps the newest messages and says in one line what was dropped.

A strategy for recap in Python, without packages: one JSON object a line on
standard input and output. `docs/program.md` describes the messages.
"""

import json
import sys


def whole(messages, start):
    """The first place from `start` on that parts no result from its call."""
    made = {call["id"]: at for at, m in enumerate(messages) for call in m.get("calls", [])}
    oldest, first = len(messages), len(messages)
    for at in range(len(messages) - 1, start - 1, -1):
        if "result_of" in messages[at]:
            oldest = min(oldest, made.get(messages[at]["result_of"]["id"], -1))
        if oldest >= at:
            first = at
    return first


def newest(messages, tokens):
    """Where the newest messages within a number of tokens begin."""
    start = len(messages)
    while start > 0 and messages[start - 1]["tokens"] <= tokens:
        start -= 1
        tokens -= messages[start]["tokens"]
    return whole(messages, start)


def compact(request, messages, dropped):
    """The answer to one compaction. `dropped` counts, by role, what is gone."""
    # System prompt and tools are no messages, and take their part of the target.
    size = sum(m["tokens"] for m in messages)
    around = max(0, (request["believed"] or size) - size)
    start = newest(messages, request["target"] - around)
    kept = [{"id": m["id"]} for m in messages[start:]]
    if start == 0:
        return kept
    for message in messages[:start]:
        if not message["id"].startswith("s"):  # our own line of the last time
            dropped[message["role"]] = dropped.get(message["role"], 0) + 1
    counts = ", ".join(f"{count} {role}" for role, count in sorted(dropped.items()))
    line = {"role": "user", "text": f"[Earlier messages were dropped: {counts}]"}
    return [line] + kept


def main():
    known, dropped = {}, {}
    for line in sys.stdin:
        request = json.loads(line)
        if request["type"] == "open":
            dropped = request.get("state", {})
            answer = {"type": "ready"}
        elif request["type"] == "compact":
            known.update((m["id"], m) for m in request["messages"])
            messages = [known[id] for id in request["context"]]
            kept = compact(request, messages, dropped)
            answer = {"type": "context", "messages": kept, "state": dropped}
        else:
            break
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
