"""The published dataset from a hub of our own: cache, resumption, checksums, no network."""

from __future__ import annotations

import hashlib
import json
import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pandas as pd
import pytest

from m4lib.errors import M4Error
from m4lib.evidence.fetch import ARCHIVES, CROISSANT, DATASET, fetch, fetch_indexes
from tests.evidence.test_unpack import archive

COMMIT = "a" * 40
CSV = b"task,condition,schema,model,trial,reward,agent,run_id\nmimic-sofa-24h,no-skill,native,gpt-5.5,1,0.5,codex,x\n"


class Hub:
    """A hub with one dataset. `cut`: names whose first download breaks off half way."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files, self.requests, self.cut = files, [], set()
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *words):
                pass

            def do_HEAD(self):
                self.answer(body=False)

            def do_GET(self):
                self.answer(body=True)

            def answer(self, body):
                path = self.path.split("?")[0]
                hub.requests.append((self.command, path, self.headers.get("Range")))
                if path.startswith("/api/"):
                    listing = {"id": DATASET, "sha": COMMIT, "private": False, "disabled": False, "gated": False, "downloads": 0, "likes": 0, "tags": [],
                               "siblings": [{"rfilename": name} for name in hub.files]}
                    if "/tree/" in path:
                        listing = [{"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()} for name, data in hub.files.items()]
                    return self.send(200, json.dumps(listing).encode(), {"Content-Type": "application/json"}, body)
                name = path.split(f"/resolve/{COMMIT}/")[-1].split("/resolve/main/")[-1]
                if name not in hub.files:
                    return self.send(404, b"{}", {"X-Error-Code": "EntryNotFound"}, body)
                data = hub.files[name]
                headers = {"ETag": f'"{hashlib.sha256(data).hexdigest()}"', "X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes"}
                start = int(self.headers["Range"].split("=")[1].split("-")[0]) if self.headers.get("Range") else 0
                if start:
                    return self.send(206, data[start:], {**headers, "Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"}, body)
                if body and name in hub.cut:
                    hub.cut.discard(name)
                    self.send(200, data[: len(data) // 2], headers, body, length=len(data))
                    self.close_connection = True
                    return None
                return self.send(200, data, headers, body)

            def send(self, status, data, headers, body, length=None):
                self.send_response(status)
                for key, value in {**headers, "Content-Length": str(length or len(data))}.items():
                    self.send_header(key, value)
                self.end_headers()
                if body:
                    self.wfile.write(data)
                    self.wfile.flush()

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def hub(tmp_path, monkeypatch):
    for name in ("HF_HUB_OFFLINE", "HF_ENDPOINT", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "*")
    packed = archive(tmp_path / "p.tar.zst", ("p/readme.md", b"hello"), ("p/big", random.Random(1).randbytes(60_000))).read_bytes()
    digest = hashlib.sha256(packed).hexdigest()
    croissant = {"distribution": [{"contentUrl": "https://x/resolve/main/metadata/run-indexes/final_codex_runs.csv", "sha256": hashlib.sha256(CSV).hexdigest()}]}
    made = Hub({"metadata/run-indexes/final_codex_runs.csv": CSV, CROISSANT: json.dumps(croissant).encode(), "p.tar.zst": packed, "README.md": b"x" * 100,
                "p.tar.zst.sha256": f"{digest}  p.tar.zst\n".encode(), "p.tar.zst.manifest.json": b"{}"})
    made.pinned = {"p.tar.zst": digest}
    made.options = {"endpoint": made.endpoint, "cache": tmp_path / "cache", "pinned": made.pinned}
    yield made
    made.server.shutdown()


def downloads(hub):
    return [path.split("/")[-1] for command, path, _ in hub.requests if command == "GET" and "/resolve/" in path]


def test_indexes_alone_by_default(hub):
    folder = fetch_indexes(**hub.options)
    assert sorted(downloads(hub)) == sorted(["final_codex_runs.csv", CROISSANT])
    from m4lib.analysis.sources import load_sources

    sources = load_sources(folder)
    assert sources.has("primary") and len(sources["primary"]) == 1
    assert fetch(**hub.options).compared == 1


def test_what_is_cached_needs_no_download_and_no_network(hub, monkeypatch):
    first = fetch(**hub.options)
    hub.requests.clear()
    assert fetch(**hub.options).files == first.files and downloads(hub) == []
    hub.server.shutdown()
    hub.server.server_close()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert fetch(**hub.options).files == first.files


def test_offline_without_a_cache_is_one_sentence(hub, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(M4Error, match="not in the cache and HF_HUB_OFFLINE is set"):
        fetch(**{**hub.options, "cache": tmp_path / "empty"})
    assert hub.requests == []


def test_archives_on_request_are_compared_and_unpacked(hub, tmp_path):
    found = fetch(archives=True, out=tmp_path / "out", **hub.options)
    assert found.compared == 2 and (tmp_path / "out/p/p/readme.md").read_text() == "hello"
    assert pd.read_csv(tmp_path / "out/metadata/run-indexes/final_codex_runs.csv").shape == (1, 8)
    assert fetch(archives=True, out=tmp_path / "out", **hub.options).unpacked == found.unpacked  # again: nothing to do


def test_a_broken_download_goes_on_where_it_stopped(hub, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 1000)  # what arrived in whole pieces is kept
    hub.cut.add("p.tar.zst")
    for _ in range(3):
        try:
            found = fetch(archives=True, **hub.options)
            break
        except M4Error as error:
            assert "call again" in str(error)
    assert found.compared == 2
    ranges = [wanted for command, path, wanted in hub.requests if command == "GET" and path.endswith("p.tar.zst")]
    starts = [int(wanted.split("=")[1].rstrip("-")) for wanted in ranges[1:] if wanted]
    assert ranges[0] is None and starts and starts[0] > len(hub.files["p.tar.zst"]) // 3


@pytest.mark.parametrize("name, where", [("p.tar.zst", "table 14"), ("metadata/run-indexes/final_codex_runs.csv", "Croissant")])
def test_a_changed_file_is_refused_and_not_kept(hub, name, where):
    good = hub.files[name]
    hub.files[name] = good[:-1] + bytes([good[-1] ^ 1])
    with pytest.raises(M4Error, match=where):
        fetch(archives=True, **hub.options)
    hub.files[name] = good
    assert fetch(archives=True, **hub.options).compared == 2


def test_the_published_checksums_are_pinned():
    assert ARCHIVES == {
        "m4bench-evidence-submission.tar.zst": "f8b72940bd98cd9b2a852fa79c416310e2ed8ec7795b181941358d3b03ca708c",
        "m4bench-evidence-claude-replication.tar.zst": "4aeb5eda83090f89e5a3bf5d0e8c4568c18309efd66b496c4655e11abd13471b"}
