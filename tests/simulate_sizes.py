#!/usr/bin/env python3
"""What recorded coding sessions would have cost, had they compacted at another prompt size.

    python3 simulate_sizes.py PRICES.json QUANTITIES.json FILE...

Prints JSON.  PRICES is LiteLLM's price list, QUANTITIES says what one compaction does:
{"added": tokens of the prompt after it above the session's first prompt, "cached": tokens of
it still read from the cache, "output": tokens of the summary, "read_again": tokens read again
after it, "calls": requests which that takes, "sizes": [100000, ...], "counted_output": true}.
Each FILE (.jsonl, .jsonl.gz) is a session of Claude Code or Codex.  Today is its main agent's
requests as reported and the estimated calls of its compactions.  Compare savings in dollars:
Claude Code often logs an output counted before it was complete (the last line of the message
has no stop_reason), billed with counted_output, left out without.

How sessions are read

* Usage of a message (message id and request id) is that of its last line.  Codex: counts with
  unchanged totals are dropped; the totals stand for the missing ids.
* A message is billed once over all files, in the longest (most requests, then lines) that
  holds it.  Every file is walked whole all the same.
* Codex reports no writes: what is not read counts as written, at the price of plain input.
* Prices above N tokens hold for requests with a larger prompt.  No price: no cost.
* First prompt of a session that begins midway (it is above 70k, or follows a compaction, or
  a later one is below 0.9 of it): its smallest, or the other sessions' median first if less.

How a session is walked at size S (gone = reported prompt - simulated prompt, 0 at first)

1. The prompt is the reported one - gone, never below the session's first (or the reported).
2. It reads what was reported - gone, at least 0, at most all, and writes the rest in the
   request's own mix.  Where the recording lost its cache (did not read all that the request
   before had in it, to 1,024 tokens) a smaller prompt still reads min(reported, `cached`);
   where it lost over half of it, a larger prompt reads no more than reported.
3. Above S a compaction fires in front of the request.  Its call reads what the request would
   have read, writes the rest and 1,000 tokens of instruction, outputs the summary.  The prompt
   is then first + added + read_again, of which `cached` is read and the rest written, and
   `calls` further requests read all of it.
4. A recorded compaction that is not manual is skipped if gone is not 0.  The prompt is the
   one before + growth (tokens before compacting, by its record, - last reported prompt; if
   unknown or negative, the session's median growth).  It reads the one before, writes the
   growth, and `calls` cached reads of the prompt are deducted.  In each of the next 20
   requests a twentieth of read_again more is gone.
5. Other recorded compactions stay; gone is 0 again.  Their calls are not on record, billed as
   reading the prompt before, writing the instruction and outputting the summary.
"""
import gzip
import json
import math
import re
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path

INSTRUCTION = 1_000  # tokens that ask for the summary
MIDWAY = 70_000  # a session whose first prompt is larger begins midway
READ_AGAIN_OVER = 20  # requests
SLACK = 1_024  # tokens of the cache that may go unread without it being lost


@dataclass
class Request:
    model: str
    fresh: int  # input that is neither read from the cache nor written to it
    read: int
    written: int  # for five minutes
    written_1h: int
    output: int
    cached: int  # of the prompt, in the cache after it

    def __post_init__(self):
        self.prompt = self.fresh + self.read + self.written + self.written_1h


@dataclass
class Session:
    name: str
    model: str = None  # of Codex's next request
    lines: int = 0
    requests: dict = field(default_factory=dict)  # by their key
    compactions: dict = field(default_factory=dict)  # next request -> (manual, tokens before)
    owned: set = field(default_factory=set)  # keys of the requests that are billed here
    first: float = 0  # tokens of the first prompt
    growth: float = 0  # median tokens from request to request


def load(path, counted_output):
    session = Session(re.sub(r"\.jsonl(\.gz)?$", "", path.name))
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        for line in file:
            session.lines += 1
            entry = json.loads(line)
            if "payload" in entry:
                read_codex(session, entry)
            else:
                read_claude(session, entry, counted_output)
    prompts = [request.prompt for request in session.requests.values()]
    growths = [b - a for i, (a, b) in enumerate(zip(prompts, prompts[1:]), 1)
               if i not in session.compactions]
    session.growth = max(0, statistics.median(growths or [0]))
    return session


def read_claude(session, entry, counted_output):
    if entry.get("subtype") == "compact_boundary":
        meta = entry.get("compactMetadata", {})
        manual = meta.get("trigger") == "manual"
        session.compactions[len(session.requests)] = manual, meta.get("preTokens")
    message = entry.get("message")
    if (entry.get("type") != "assistant" or entry.get("isSidechain")
            or message.get("model") == "<synthetic>" or not message.get("usage")):
        return
    ids = message.get("id"), entry.get("requestId")
    key = ids if any(ids) else (entry.get("timestamp"), json.dumps(message, sort_keys=True))
    usage = message["usage"]
    read = usage.get("cache_read_input_tokens") or 0
    written = usage.get("cache_creation_input_tokens") or 0
    written_1h = (usage.get("cache_creation") or {}).get("ephemeral_1h_input_tokens") or 0
    complete = counted_output or message.get("stop_reason")
    session.requests[key] = Request(
        message.get("model"), usage["input_tokens"], read, written - written_1h, written_1h,
        usage["output_tokens"] if complete else 0, read + written)


def read_codex(session, entry):
    payload = entry["payload"]
    if entry["type"] == "turn_context":
        session.model = payload["model"]
    elif entry["type"] == "compacted":
        session.compactions[len(session.requests)] = (False, None)
    elif payload.get("type") == "token_count" and payload.get("info"):
        key = json.dumps(payload["info"]["total_token_usage"], sort_keys=True)
        usage = payload["info"]["last_token_usage"]
        prompt, read = usage["input_tokens"], usage["cached_input_tokens"]
        if prompt and key not in session.requests:
            session.requests[key] = Request(
                session.model, prompt - read, read, 0, 0, usage["output_tokens"], prompt)


def own_requests(sessions):
    taken = set()  # by longer sessions
    for session in sorted(sessions, key=lambda s: (-len(s.requests), -s.lines, s.name)):
        session.owned = set(session.requests) - taken
        taken |= session.owned


def find_first_prompts(sessions):
    firsts, midway = [], []
    for session in sessions:
        prompts = [request.prompt for request in session.requests.values()]
        session.first = prompts[0]
        if prompts[0] > MIDWAY or 0 in session.compactions or min(prompts) < 0.9 * prompts[0]:
            session.first = min(prompts)
            midway.append(session)
        else:
            firsts.append(session.first)
    for session in midway:
        session.first = min(session.first, statistics.median(firsts or [math.inf]))


def rates(prices, model, prompt):
    """Dollars a token: input, read, written for five minutes, for an hour, output."""
    listed = prices.get(model, {})
    tiers = (re.fullmatch(r"input_cost_per_token_above_(\d+)k_tokens", key) for key in listed)
    tier = max((int(t[1]) for t in tiers if t and prompt > int(t[1]) * 1_000), default=0)

    def price(name, default):
        return listed.get(f"{name}_above_{tier}k_tokens", listed.get(name, default))

    fresh = price("input_cost_per_token", 0)
    written = price("cache_creation_input_token_cost", fresh)
    return (fresh, price("cache_read_input_token_cost", fresh), written,
            price("cache_creation_input_token_cost_above_1hr", written),
            price("output_cost_per_token", 0))


def request_cost(prices, request, prompt, read):
    """Cost of a request of this size that writes in the mix of the recorded one."""
    fresh, cached, written, written_1h, out = rates(prices, request.model, prompt)
    rest = request.prompt - request.read
    mixed = written if not rest else (
        fresh * request.fresh + written * request.written + written_1h * request.written_1h) / rest
    return read * cached + (prompt - read) * mixed + request.output * out


def call_cost(prices, request, prompt, read, summary):
    """Cost of the call that writes the summary."""
    _, cached, written, written_1h, out = rates(prices, request.model, prompt)
    write = written_1h if request.written_1h > request.written else written
    return read * cached + (prompt - read + INSTRUCTION) * write + summary * out


def walk(session, size, quantities, prices):
    """Dollars and compactions of one session that compacts above this size."""
    cached, summary, read_again, calls = (
        quantities[name] for name in ("cached", "output", "read_again", "calls"))
    after = session.first + quantities["added"] + read_again
    dollars, compactions, gone, skipped_at = 0, 0, 0, -math.inf
    last, before = None, 0  # the recorded request before this one, its simulated prompt
    for i, (key, request) in enumerate(session.requests.items()):
        cost = count = 0
        manual, tokens_before = session.compactions.get(i, (None, None))
        compacted = last is not None and i in session.compactions
        if compacted and not manual and gone != 0:
            growth = tokens_before - last.prompt if tokens_before else -1
            prompt, read = before + (growth if growth >= 0 else session.growth), before
            cost -= calls * prompt * rates(prices, request.model, prompt)[1]
            skipped_at = i
        elif compacted:
            prompt, read = request.prompt, request.read
            cost, count = call_cost(prices, request, before, before, summary), 1
            skipped_at = -math.inf
        else:
            if i - skipped_at <= READ_AGAIN_OVER:
                gone += read_again / READ_AGAIN_OVER
            prompt = max(request.prompt - gone, min(request.prompt, session.first))
            read = reuse(request, last, prompt, cached)
        if prompt > size:
            cost += call_cost(prices, request, prompt, read, summary)
            count += 1
            prompt, read = after, min(cached, after)
            cost += calls * prompt * rates(prices, request.model, prompt)[1]
        cost += request_cost(prices, request, prompt, read)
        if key in session.owned:
            dollars += cost
            compactions += count
        gone, before, last = request.prompt - prompt, prompt, request
    return dollars, compactions


def reuse(request, last, prompt, cached):
    """Tokens that a prompt of this size reads from the cache where the recorded one did."""
    gone = request.prompt - prompt
    read, readable = request.read - gone, min(last.cached, request.prompt) if last else 0
    if gone > 0 and request.read < readable - SLACK:
        read = max(read, min(request.read, cached))
    elif gone < 0 and request.read < readable / 2:
        read = request.read
    return max(0, min(read, prompt))


def main():
    prices, quantities = (json.loads(Path(p).read_text(encoding="utf-8")) for p in sys.argv[1:3])
    loaded = (load(Path(name), quantities["counted_output"]) for name in sys.argv[3:])
    sessions = [session for session in loaded if session.requests]
    own_requests(sessions)
    find_first_prompts(sessions)
    sizes, by_session = {}, {session.name: {} for session in sessions}
    for name, size in [("today", math.inf), *((str(s), s) for s in quantities["sizes"])]:
        walks = [walk(session, size, quantities, prices) for session in sessions]
        for session, (dollars, _) in zip(sessions, walks):
            by_session[session.name][name] = round(dollars, 6)
        dollars, compactions = map(sum, zip(*walks))
        sizes[name] = {"usd": round(dollars, 6), "compactions": compactions}
    print(json.dumps({
        "requests": sum(len(session.owned) for session in sessions),
        "today": sizes.pop("today")["usd"], "sizes": sizes, "sessions": by_session}, indent=1))


if __name__ == "__main__":
    main()
