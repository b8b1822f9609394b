"""Keeps the newest messages, as keep_last.py does, and is asked over HTTP.

A strategy for recap as a server, without packages: `python3 keep_last_server.py
[PORT]`, by default 8765. Each message is a POST, and its `session` says which
conversation it belongs to. `docs/program.md` describes the messages.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from keep_last import compact

# What is known of each session: its messages by id, and what was dropped.
sessions = {}


def answer(request):
    """The answer to one message."""
    session = request["session"]
    if request["type"] == "open":
        sessions[session] = ({}, request.get("state", {}))
        return {"type": "ready"}
    if request["type"] == "compact":
        known, dropped = sessions[session]
        known.update((m["id"], m) for m in request["messages"])
        messages = [known[id] for id in request["context"]]
        kept = compact(request, messages, dropped)
        return {"type": "context", "messages": kept, "state": dropped}
    sessions.pop(session, None)
    return {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        try:
            said = answer(json.loads(self.rfile.read(length)))
        except Exception as problem:  # the session fails, the server goes on
            said = {"type": "error", "message": repr(problem)}
        body = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8765
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
