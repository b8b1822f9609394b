"""LangChain's `trim_messages` as a strategy for recap.

Needs the package langchain-core. What LangChain drops is dropped; nothing
stands for it. `docs/program.md` describes the messages.
"""

import json
import sys

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages import trim_messages


def converted(message):
    """A message as LangChain has it; its id is how it is found again."""
    text, id = message["text"], message["id"]
    if message["role"] == "tool":
        call = message.get("result_of", {}).get("id", id)
        return ToolMessage(content=text, id=id, tool_call_id=call)
    if message["role"] == "assistant":
        calls = [
            {"name": call["tool"], "args": arguments(call), "id": call["id"]}
            for call in message.get("calls", [])
        ]
        return AIMessage(content=text, id=id, tool_calls=calls)
    kind = SystemMessage if message["role"] == "system" else HumanMessage
    return kind(content=text, id=id)


def arguments(call):
    """LangChain takes objects only."""
    given = call.get("arguments")
    return given if isinstance(given, dict) else {"value": given}


def main():
    known, tokens, parameters = {}, {}, {}
    for line in sys.stdin:
        request = json.loads(line)
        if request["type"] == "open":
            parameters = request["parameters"]
            answer = {"type": "ready"}
        elif request["type"] == "compact":
            for message in request["messages"]:
                known[message["id"]] = converted(message)
                tokens[message["id"]] = message["tokens"]
            size = sum(tokens[id] for id in request["context"])
            around = max(0, (request["believed"] or size) - size)
            kept = trim_messages(
                [known[id] for id in request["context"]],
                max_tokens=max(1, request["target"] - around),
                token_counter=lambda messages: sum(tokens[m.id] for m in messages),
                **parameters,
            )
            answer = {"type": "context", "messages": [{"id": m.id} for m in kept]}
        else:
            break
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
