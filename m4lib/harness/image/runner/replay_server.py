"""A model that follows a script (standard library only): Responses, Messages, Gemini and chat completions, streamed or not.

Configuration is one line of JSON on stdin: {"steps": [...], "port": 9000}. A step is {"run": "shell command"}, the closing
{"say": "text"}, {"call": {"tool": ..., "arguments": {...}}} for any other tool, or {"status": 429, "retry_after": 5} for a
failing provider. Which step is due follows from the request alone (how many results of calls it holds), so retries and
side requests change nothing. Each answer reports `usage` = {"input", "cached", "output"} tokens.
"""

import json
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

CONFIG: dict = {}
LOCK = threading.Lock()
# a command line's shell tool, by the names seen so far, and how it wants the command
SHELLS = {
    "exec_command": lambda command: {"cmd": command, "workdir": "/work", "yield_time_ms": 30000},
    "shell_command": lambda command: {"command": command, "workdir": "/work", "timeout_ms": 600000},
    "shell": lambda command: {"command": ["bash", "-c", command], "workdir": "/work", "timeout_ms": 600000},
    "Bash": lambda command: {"command": command, "description": "Run the next step", "timeout": 600000},
    "run_shell_command": lambda command: {"command": command, "description": "Run the next step"},
    "bash": lambda command: {"command": command, "timeout": 600},
}
WAITING = re.compile(r"session ID (\d+)")


def step(done, tools, waiting=None):
    """("call", tool, arguments) or ("say", text) or ("status", step)."""
    if waiting is not None:
        return ("call", "write_stdin", {"session_id": int(waiting), "chars": "", "yield_time_ms": 30000})
    shell = next((name for name in SHELLS if name in tools), None)
    if shell is None:  # a side request, such as one for a title
        return ("say", "ok")
    steps = CONFIG["steps"]
    due = steps[min(done, len(steps) - 1)]
    if "status" in due:
        return ("status", due)
    if "hang" in due:
        time.sleep(due["hang"])
        return ("say", "late")
    if "run" in due:
        return ("call", shell, SHELLS[shell](due["run"]))
    if "call" in due:
        return ("call", due["call"]["tool"], due["call"]["arguments"])
    return ("say", due["say"])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def body(self):
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def plain(self, status, value, headers=()):
        body = json.dumps(value).encode()
        self.send_response(status)
        for name, text in (("Content-Type", "application/json"), ("Content-Length", str(len(body))), ("Connection", "close"), *headers):
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def stream(self, events):
        """events: (name or None, object or text)."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for name, value in events:
            text = value if isinstance(value, str) else json.dumps(value)
            self.wfile.write(((f"event: {name}\n" if name else "") + f"data: {text}\n\n").encode())
            self.wfile.flush()
        self.close_connection = True

    def do_GET(self):
        self.plain(200, {"object": "list", "data": []})

    def do_HEAD(self):
        self.plain(200, {})

    def do_POST(self):
        try:
            request = json.loads(self.body())
        except ValueError:
            self.plain(400, {"error": {"message": "no JSON"}})
            return
        path = urlsplit(self.path).path
        for ending, speak in (("/responses", openai), ("/messages", anthropic), ("/chat/completions", chat), ("enerateContent", gemini)):
            if path.endswith(ending):
                record = speak(self, request, path)
                with LOCK:
                    print(json.dumps({"ts": round(time.time(), 3), "path": path, "model": request.get("model"), "answer": record, "tools": names(request)}), flush=True)
                return
        self.plain(404, {"error": {"message": f"no such path {path}"}})

    def failing(self, due):
        retry = [("Retry-After", str(due["retry_after"]))] if "retry_after" in due else []
        kind = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}.get(due["status"], "api_error")
        self.plain(due["status"], {"type": "error", "error": {"type": kind, "code": kind, "message": due.get("message", kind)}}, retry)
        return f"status {due['status']}"


def names(request):
    """Tools that were offered, for the log."""
    found = []
    for tool in request.get("tools") or []:
        inner = tool.get("functionDeclarations") or tool.get("tools") or [tool.get("function") or tool]
        found += [str(one.get("name") or one.get("type")) for one in inner]
    return found


def openai(handler, request, path):
    items = request.get("input") if isinstance(request.get("input"), list) else []
    calls = [item for item in items if item.get("type") in ("function_call", "custom_tool_call", "local_shell_call")]
    results = [item for item in items if str(item.get("type", "")).endswith("_call_output")]
    done = sum(call.get("name") != "write_stdin" for call in calls)
    waiting = WAITING.search(json.dumps(results[-1].get("output", ""))) if results else None
    if waiting and "Process exited" in json.dumps(results[-1].get("output", "")):
        waiting = None
    tools = {tool.get("name") or tool.get("type") for tool in request.get("tools") or []}
    kind, *what = step(done, tools, waiting.group(1) if waiting else None)
    if kind == "status":
        return handler.failing(what[0])
    number = len(results) + 1
    if kind == "call":
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": what[0], "arguments": json.dumps(what[1]), "status": "completed"}
    else:
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": what[0], "annotations": []}]}
    use = CONFIG["usage"]
    usage = {
        "input_tokens": use["input"], "input_tokens_details": {"cached_tokens": use["cached"]}, "output_tokens": use["output"],
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": use["input"] + use["output"],
    }
    whole: dict = {"id": f"resp_{number}", "object": "response", "status": "completed", "model": request.get("model"), "output": [item], "usage": usage}
    if not request.get("stream"):
        handler.plain(200, whole)
        return kind
    handler.stream([
        ("response.created", {"type": "response.created", "response": {"id": whole["id"], "object": "response", "status": "in_progress", "model": request.get("model"), "output": []}}),
        ("response.output_item.added", {"type": "response.output_item.added", "output_index": 0, "item": item}),
        ("response.output_item.done", {"type": "response.output_item.done", "output_index": 0, "item": item}),
        ("response.completed", {"type": "response.completed", "response": whole}),
    ])
    return kind


def anthropic(handler, request, path):
    done = sum(
        block.get("type") == "tool_result"
        for message in request.get("messages") or [] if message.get("role") == "user" and isinstance(message.get("content"), list)
        for block in message["content"]
    )
    tools = {tool.get("name") for tool in request.get("tools") or []}
    kind, *what = step(done, tools)
    if kind == "status":
        return handler.failing(what[0])
    use, number = CONFIG["usage"], done + 1
    usage = {"input_tokens": use["input"] - use["cached"], "cache_read_input_tokens": use["cached"], "cache_creation_input_tokens": 0, "output_tokens": use["output"]}
    if kind == "call":
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": what[0], "input": what[1]}
        empty, delta, stop = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(what[1])}, "tool_use"
    else:
        block = {"type": "text", "text": what[0]}
        empty, delta, stop = {"type": "text", "text": ""}, {"type": "text_delta", "text": what[0]}, "end_turn"
    message: dict = {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": request.get("model"), "content": [block],
        "stop_reason": stop, "stop_sequence": None, "usage": usage,
    }
    if not request.get("stream"):
        handler.plain(200, message)
        return kind
    events: list[dict] = [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": use["output"]}},
        {"type": "message_stop"},
    ]
    handler.stream([(event["type"], event) for event in events])
    return kind


def chat(handler, request, path):
    messages = request.get("messages") or []
    done = sum(message.get("role") == "tool" for message in messages)
    tools = {(tool.get("function") or {}).get("name") for tool in request.get("tools") or []}
    kind, *what = step(done, tools)
    if kind == "status":
        return handler.failing(what[0])
    use = CONFIG["usage"]
    usage = {
        "prompt_tokens": use["input"], "completion_tokens": use["output"], "total_tokens": use["input"] + use["output"],
        "prompt_tokens_details": {"cached_tokens": use["cached"]},
    }
    message = {"role": "assistant", "content": None if kind == "call" else what[0]}
    if kind == "call":
        function = {"name": what[0], "arguments": json.dumps(what[1])}
        message["tool_calls"] = [{"index": 0, "id": f"call_{done + 1}", "type": "function", "function": function}]
    stop = "tool_calls" if kind == "call" else "stop"
    frame = {"id": f"chat_{done + 1}", "object": "chat.completion", "created": int(time.time()), "model": request.get("model")}
    if not request.get("stream"):
        handler.plain(200, {**frame, "choices": [{"index": 0, "message": message, "finish_reason": stop}], "usage": usage})
        return kind
    frame["object"] = "chat.completion.chunk"
    handler.stream([
        (None, {**frame, "choices": [{"index": 0, "delta": message, "finish_reason": None}]}),
        (None, {**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": stop}], "usage": usage}),
        (None, "[DONE]"),
    ])
    return kind


def gemini(handler, request, path):
    parts = [part for content in request.get("contents") or [] for part in content.get("parts") or []]
    done = sum("functionResponse" in part for part in parts)
    tools = {
        declaration.get("name")
        for tool in request.get("tools") or []
        for declaration in tool.get("functionDeclarations") or tool.get("function_declarations") or []
    }
    kind, *what = step(done, tools)
    if kind == "status":
        return handler.failing(what[0])
    use = CONFIG["usage"]
    part = {"functionCall": {"name": what[0], "args": what[1]}} if kind == "call" else {"text": what[0]}
    answer = {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": use["input"], "cachedContentTokenCount": use["cached"], "candidatesTokenCount": use["output"],
            "totalTokenCount": use["input"] + use["output"],
        },
        "modelVersion": path.rsplit("/", 1)[-1].split(":")[0], "responseId": f"response-{done + 1}",
    }
    if "stream" in path:
        handler.stream([(None, answer)])
    else:
        handler.plain(200, answer)
    return kind


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass


def main():
    CONFIG.update({"usage": {"input": 1000, "cached": 400, "output": 50}}, **json.loads(sys.stdin.buffer.readline()))
    server = Server(("0.0.0.0", CONFIG.get("port", 9000)), Handler)
    print(json.dumps({"ready": True}), flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
