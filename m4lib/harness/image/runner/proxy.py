"""The only door of an agent's network (standard library only): lets through what is on the list, logs every attempt.

Configuration is one line of JSON on stdin: {"allow": ["host:port", ...], "port": 3128}. The log is stdout, one JSON object
an attempt: ts, method, host, port, allowed, and error, up, down, seconds where they apply. For a CONNECT to port 443 the
name in the TLS greeting must be the host that was asked for. Addresses are looked up only after the list has agreed.
"""

import asyncio
import json
import os
import signal
import sys
import time
from urllib.parse import urlsplit

MAX_OPEN = 256  # connections at once; more are refused and counted
MAX_LOG = 20_000  # single records; after that only sums
DENIED = b"HTTP/1.1 403 Forbidden\r\nX-Egress: denied\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
FAILED = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
BUSY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Log:
    def __init__(self):
        self.count = self.busy = 0

    def write(self, **values):
        self.count += 1
        if self.count <= MAX_LOG or (not values.get("allowed") and self.count % 1000 == 0):
            print(json.dumps({"ts": round(time.time(), 3), **values}), flush=True)

    def refused(self):
        self.busy += 1
        if self.busy == 1 or self.busy % 1000 == 0:
            print(json.dumps({"ts": round(time.time(), 3), "note": "too many connections", "refused": self.busy}), flush=True)


class Proxy:
    def __init__(self, allow):
        self.allow = {entry.lower() for entry in allow}
        self.log = Log()
        self.open = 0
        self.going: dict[int, dict] = {}  # allowed connections that are not in the log yet

    def last_words(self):
        """The run is over: log what is still open, then end."""
        for entry in self.going.values():
            self.log.write(**entry["facts"], allowed=True, up=entry["up"][0], down=entry["down"][0], seconds=round(time.monotonic() - entry["started"], 3), unfinished=True)
        os._exit(0)

    async def client(self, reader, writer):
        if self.open >= MAX_OPEN:
            self.log.refused()
            writer.write(BUSY)
            writer.close()
            return
        self.open += 1
        try:
            await self.serve(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError, ValueError):
            pass
        finally:
            self.open -= 1
            writer.close()

    async def serve(self, reader, writer):
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 15)
        line, _, rest = head.partition(b"\r\n")
        method, target, _version = line.decode("latin1").split(" ", 2)
        if method == "CONNECT":
            host, _, port = target.rpartition(":")
        else:
            url = urlsplit(target)
            host, port = url.hostname or "", str(url.port or (443 if url.scheme == "https" else 80))
        host = host.strip("[]").lower().rstrip(".")
        entry = {"method": method, "host": host[:255], "port": int(port) if port.isdigit() else port[:10]}
        if f"{host}:{port}" not in self.allow:
            self.log.write(**entry, allowed=False)
            writer.write(DENIED)
            await writer.drain()
            return
        greeting = b""
        if method == "CONNECT" and port == "443":
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await writer.drain()
            greeting = await tls_record(reader)
            name = server_name(greeting)
            if name != host:
                self.log.write(**entry, allowed=False, error=f"the TLS greeting names {name!r}")
                return
        started = time.monotonic()
        try:
            up_reader, up_writer = await asyncio.wait_for(asyncio.open_connection(host, int(port)), 10)
        except (OSError, TimeoutError) as error:
            self.log.write(**entry, allowed=True, error=repr(error)[:200])
            writer.write(FAILED)
            await writer.drain()
            return
        up, down = [0], [0]
        self.going[id(up)] = {"facts": entry, "up": up, "down": down, "started": started}
        try:
            if method == "CONNECT":
                if port != "443":
                    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    await writer.drain()
                up_writer.write(greeting)
                up[0] += len(greeting)
                await asyncio.gather(pump(reader, up_writer, up), pump(up_reader, writer, down))
            else:
                path = target[len(target.split("://", 1)[0]) + 3 :]
                path = "/" + path.partition("/")[2]
                drop = (b"proxy-", b"connection:", b"keep-alive:")
                headers = [h for h in rest.split(b"\r\n") if h and not h.lower().startswith(drop)]
                up_writer.write(b"\r\n".join([f"{method} {path} HTTP/1.1".encode("latin1"), *headers, b"Connection: close", b"", b""]))
                await up_writer.drain()
                sending = asyncio.create_task(pump(reader, up_writer, up))
                await pump(up_reader, writer, down)
                sending.cancel()
        finally:
            up_writer.close()
            del self.going[id(up)]
            self.log.write(**entry, allowed=True, up=up[0], down=down[0], seconds=round(time.monotonic() - started, 3))


async def pump(reader, writer, count):
    try:
        while block := await reader.read(65536):
            count[0] += len(block)
            writer.write(block)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except (OSError, asyncio.CancelledError):
        pass


async def tls_record(reader):
    head = await asyncio.wait_for(reader.readexactly(5), 15)
    if head[0] != 22:
        return head
    return head + await asyncio.wait_for(reader.readexactly(int.from_bytes(head[3:5], "big")), 15)


def server_name(record):
    """The host name in a ClientHello; None when there is none."""
    try:
        if record[0] != 22 or record[5] != 1:
            return None
        at = 5 + 4 + 2 + 32
        at += 1 + record[at]  # session
        at += 2 + int.from_bytes(record[at : at + 2], "big")  # ciphers
        at += 1 + record[at]  # compression
        end = at + 2 + int.from_bytes(record[at : at + 2], "big")
        at += 2
        while at + 4 <= end:
            kind, size = int.from_bytes(record[at : at + 2], "big"), int.from_bytes(record[at + 2 : at + 4], "big")
            if kind == 0:
                length = int.from_bytes(record[at + 7 : at + 9], "big")
                return record[at + 9 : at + 9 + length].decode("ascii").lower().rstrip(".")
            at += 4 + size
    except (IndexError, UnicodeDecodeError):
        pass
    return None


async def main():
    config = json.loads(sys.stdin.buffer.readline())
    proxy = Proxy(config["allow"])
    server = await asyncio.start_server(proxy.client, "0.0.0.0", config.get("port", 3128), backlog=512)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, proxy.last_words)
    print(json.dumps({"ready": True}), flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
