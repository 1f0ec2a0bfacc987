"""Stands between proxy and provider and holds the credential (standard library only); agents never see it.

Configuration is one line of JSON on stdin: {"upstream": "https://host[:port]", "header": "Authorization", "value": "Bearer ...",
"paths": ["/v1/responses", ...], "port": 8000}. Only these paths are forwarded, so the credential opens nothing else. A
request that asks the provider for a hosted tool (web search and the like) is refused. The log is stdout, one JSON
object a request: ts, by, method, path, status, model asked for, model that answered, up, down, seconds, retry_after.
"""

import http.client
import json
import os
import re
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

CREDENTIALS = {"authorization", "x-api-key", "x-goog-api-key", "api-key"}
HOP = {"connection", "keep-alive", "proxy-connection", "proxy-authorization", "transfer-encoding", "te", "upgrade", "host", "accept-encoding"}
HOSTED = re.compile(r"web_?search|web_?fetch|google_?search|url_?context|code_?(interpreter|execution)|file_?search|computer_?use|mcp", re.IGNORECASE)
MODEL = re.compile(rb'"(?:model|modelVersion)"\s*:\s*"([^"]{1,100})"')
CONFIG: dict = {}
LOCK = threading.Lock()
GOING: dict[int, dict] = {}  # requests that wait for the provider


def log(**values):
    with LOCK:
        print(json.dumps({"ts": round(time.time(), 3), "by": "gateway", **values}), flush=True)


def hosted_tools(body):
    """Tools that would run on the provider's side: those that have a type or key of their own instead of a schema."""
    try:
        request = json.loads(body)
    except ValueError:
        return [], None
    found = []
    tools = request.get("tools") if isinstance(request, dict) else None
    for tool in tools if isinstance(tools, list) else []:
        if isinstance(tool, dict):
            kind = str(tool.get("type", "function"))
            names = [kind] if kind not in ("function", "custom") else []
            names += [key for key in tool if key not in ("functionDeclarations", "function_declarations", "function", "type", "name", "description")]
            found += [name for name in names if HOSTED.search(name)]
    return sorted(set(found)), request.get("model") if isinstance(request, dict) else None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 600

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

    def answer(self, status, text):
        body = json.dumps({"error": {"type": "gateway", "message": text}}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.close_connection = True

    def forward(self):
        started, body = time.monotonic(), self.body()
        path = urlsplit(self.path).path
        model_of_path = re.search(r"/models/([^:/]+)", path)
        facts = {"method": self.command, "path": path[:200], "host": CONFIG["host"], "port": CONFIG["port_up"]}
        if self.command == "HEAD" and path == "/":  # a command line looks whether anybody is there
            self.answer(200, "")
            return
        if ".." in path or not any(path == allowed or (allowed.endswith("*") and path.startswith(allowed[:-1])) for allowed in CONFIG["paths"]):
            log(**facts, allowed=False, status=403, error="path not on the list")
            self.answer(403, "path not allowed")
            return
        tools, model = hosted_tools(body)
        model = model or (model_of_path.group(1) if model_of_path else None)
        if tools:
            log(**facts, allowed=False, status=403, model=model, hosted_tools=tools)
            self.answer(403, "hosted tools are not allowed")
            return
        headers = {k: v for k, v in self.headers.items() if k.lower() not in CREDENTIALS | HOP}
        headers |= {"Host": CONFIG["netloc"], "Accept-Encoding": "identity", "Content-Length": str(len(body))}
        if CONFIG.get("value"):
            headers[CONFIG["header"]] = CONFIG["value"]
        kind = http.client.HTTPSConnection if CONFIG["scheme"] == "https" else http.client.HTTPConnection
        upstream = kind(CONFIG["host"], CONFIG["port_up"], timeout=600)
        query = urlsplit(self.path).query
        # a key in the query would be the agent's own placeholder
        query = "&".join(part for part in query.split("&") if part and not part.startswith("key="))
        down, first, status, retry, error = 0, b"", 502, None, None
        going = GOING[id(upstream)] = {**facts, "model": model, "up": len(body), "begun": started, "status": None}
        try:
            upstream.request(self.command, path + ("?" + query if query else ""), body, headers)
            response = upstream.getresponse()
            status, retry = response.status, response.headers.get("Retry-After")
            going["status"] = status
            if retry:
                going["retry_after"] = retry
            self.send_response(status)
            for name, value in response.headers.items():
                if name.lower() not in HOP and name.lower() != "content-length":
                    self.send_header(name, value)
            self.send_header("Connection", "close")
            self.end_headers()
            while block := response.read1(65536):
                down += len(block)
                if len(first) < 16384:
                    first += block[:16384]
                self.wfile.write(block)
                self.wfile.flush()
            error = first[:300].decode("utf-8", "replace").replace(CONFIG.get("value") or "\0", "[redacted]") if status >= 400 else None
        except (OSError, http.client.HTTPException) as problem:
            error = f"{type(problem).__name__}: {problem}"[:300]
            going["status"] = status
            if down == 0 and status == 502:
                self.answer(502, "the provider cannot be reached")
        finally:
            upstream.close()
            GOING.pop(id(upstream), None)
            self.close_connection = True
        served = MODEL.search(first)
        log(
            **facts, allowed=True, status=status, model=model, served=served.group(1).decode("utf-8", "replace") if served else None,
            up=len(body), down=down, seconds=round(time.monotonic() - started, 3), **({"retry_after": retry} if retry else {}), **({"error": error} if error else {}),
        )

    do_GET = do_POST = do_HEAD = forward


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass  # a client that went away


def last_words(*_signal):
    """The run is over: log the requests that still wait, then end."""
    for entry in list(GOING.values()):
        begun = entry.pop("begun")
        print(json.dumps({"ts": round(time.time(), 3), "by": "gateway", **entry, "allowed": True, "seconds": round(time.monotonic() - begun, 3), "unfinished": True}), flush=True)
    os._exit(0)


def main():
    signal.signal(signal.SIGTERM, last_words)
    CONFIG.update(json.loads(sys.stdin.buffer.readline()))
    url = urlsplit(CONFIG["upstream"])
    CONFIG.update(scheme=url.scheme, host=url.hostname, netloc=url.netloc, port_up=url.port or (443 if url.scheme == "https" else 80))
    server = Server(("0.0.0.0", CONFIG.get("port", 8000)), Handler)
    print(json.dumps({"ready": True}), flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
