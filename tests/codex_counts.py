"""Counts of Codex CLI rollouts, for tests/suite/dataset_real.rs.

Written from the events of the logs alone, not from the reader. Prints a JSON object: of each file its
requests, prompt tokens, output tokens, calls, results, compactions and context limits.
"""

import gzip
import json
import sys
from pathlib import Path

CALLS = ("function_call", "custom_tool_call", "tool_search_call", "web_search_call", "local_shell_call")
RESULTS = ("function_call_output", "custom_tool_call_output", "tool_search_output")


def count(path: Path) -> dict:
    opened = gzip.open if path.suffix == ".gz" else open
    requests = prompts = outputs = calls = results = compactions = 0
    windows = set()
    total = None
    # A response that was interrupted, or in which the log ends, has no count behind it. Logs of 2025 count
    # a response before its items.
    unreported, open_, behind, counted_first = 0, False, False, False
    with opened(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            payload = record["payload"]
            kind = payload.get("type")
            if record["type"] == "response_item":
                calls += kind in CALLS
                results += kind in RESULTS
                said = kind == "message" and payload["role"] != "assistant"
                if kind in RESULTS or said:
                    behind = open_
                elif behind or not open_:
                    unreported += behind
                    open_, behind = True, False
            elif record["type"] == "compacted":
                compactions += 1
            elif record["type"] == "turn_context":
                behind = open_
            elif kind == "token_count" and payload.get("info"):
                info = payload["info"]
                windows.add(info.get("model_context_window"))
                last = info["last_token_usage"]
                # An event that repeats the totals reports no new response.
                if info["total_token_usage"] != total and last["input_tokens"] + last["output_tokens"] > 0:
                    requests += 1
                    prompts += last["input_tokens"]
                    outputs += last["output_tokens"]
                    counted_first |= requests == 1 and calls == 0 and not open_
                    open_, behind = False, False
                total = info["total_token_usage"]
    return {
        "requests": requests,
        "prompts": prompts,
        "outputs": outputs,
        "calls": calls,
        "results": results,
        "compactions": compactions,
        "unreported": 0 if counted_first else unreported + open_,
        "windows": sorted(window for window in windows if window),
    }


if __name__ == "__main__":
    files = sorted(path for path in Path(sys.argv[1]).iterdir() if ".jsonl" in path.name)
    print(json.dumps({path.name: count(path) for path in files}))
