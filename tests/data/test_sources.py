"""Finding the raw data: the order of places, and downloads against a local server with PhysioNet's layout."""

from __future__ import annotations

import gzip
import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from raw_folders import raw_folder

from m4lib.data import download as downloads
from m4lib.data import sources
from m4lib.data.download import Dataset, download, is_complete
from m4lib.data.sources import RawSource, resolve_raw
from m4lib.errors import InfrastructureError, M4Error


class Server(ThreadingHTTPServer):
    """Serves `files`; each quirk is `path -> something`, and `log` keeps (path, Range header)."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.cut: dict[str, int] = {}  # send so many bytes, then drop the connection, once
        self.fail: dict[str, int] = {}  # answer 503 so many times
        self.ignore_range: set[str] = set()
        self.log: list[tuple[str, str | None]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/files/demo/1.0/"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        name = self.path.removeprefix("/files/demo/1.0/")
        wanted = self.headers.get("Range")
        self.server.log.append((name, wanted))
        if self.server.fail.get(name, 0) > 0:
            self.server.fail[name] -= 1
            self.send_error(503)
            return
        if name not in self.server.files:
            self.send_error(404)
            return
        data = self.server.files[name]
        start = 0
        if wanted and name not in self.server.ignore_range:
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            if start >= len(data):
                self.send_error(416)
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        else:
            self.send_response(200)
        body = data[start:]
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        stop = self.server.cut.pop(name, None)
        self.wfile.write(body if stop is None else body[:stop])
        self.wfile.flush()
        self.close_connection = True


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server()
    thread = threading.Thread(target=one.serve_forever, daemon=True)
    thread.start()
    yield one
    one.shutdown()
    one.server_close()
    thread.join()


@pytest.fixture
def served(server: Server, tmp_path: Path) -> Server:
    """All MIMIC-IV tables, header only but for one of 300 kB, with SHA256SUMS.txt and files that are not wanted."""
    raw = raw_folder(tmp_path / "origin", gz=True)
    big = "provider_id\n" + "".join(f"P{hashlib.sha256(str(n).encode()).hexdigest()}\n" for n in range(9000))
    (raw / "hosp" / "provider.csv.gz").write_bytes(gzip.compress(big.encode(), mtime=0))
    for path in raw.rglob("*.csv.gz"):
        server.files[path.relative_to(raw).as_posix()] = path.read_bytes()
    publish(server)
    server.files["LICENSE.txt"] = b"open"
    return server


def publish(server: Server) -> None:
    lines = [f"{hashlib.sha256(data).hexdigest()} {name}" for name, data in server.files.items() if name.endswith(".csv.gz")]
    server.files["SHA256SUMS.txt"] = "\n".join([*lines, "0" * 64 + " LICENSE.txt"]).encode() + b"\n"


BIG = "hosp/provider.csv.gz"


def fetch(server: Server, folder: Path, retries: int = 3) -> Path:
    return download(Dataset("demo", server.url), folder, retries=retries, pause=0.01, timeout=5, progress=False)


def test_download_is_complete_and_not_repeated(served: Server, tmp_path: Path) -> None:
    folder = fetch(served, tmp_path / "cache")
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*.csv.gz")}
    assert names == {name for name in served.files if name.endswith(".csv.gz")} and len(names) == 31
    assert all((folder / name).read_bytes() == served.files[name] for name in names)
    assert not list(folder.rglob("*.part")) and is_complete(folder)
    served.log.clear()
    fetch(served, folder)
    assert served.log == []


def test_a_cut_connection_is_resumed(served: Server, tmp_path: Path) -> None:
    served.cut[BIG] = 100_000
    folder = fetch(served, tmp_path / "cache")
    assert [wanted for name, wanted in served.log if name == BIG] == [None, "bytes=100000-"]
    assert (folder / BIG).read_bytes() == served.files[BIG]


def test_a_later_call_goes_on_where_the_first_stopped(served: Server, tmp_path: Path) -> None:
    served.cut[BIG] = 123_456
    with pytest.raises(InfrastructureError, match=r"provider.*kept"):
        fetch(served, tmp_path / "cache", retries=0)
    assert not is_complete(tmp_path / "cache")
    assert not (tmp_path / "cache" / BIG).exists(), "no name before the checksum is right"
    before = len(served.log)
    folder = fetch(served, tmp_path / "cache", retries=0)
    again = served.log[before:]
    assert (BIG, "bytes=123456-") in again
    assert len(again) < 31, "files that were complete are not fetched again"
    assert (folder / BIG).read_bytes() == served.files[BIG]


def test_a_server_without_ranges(served: Server, tmp_path: Path) -> None:
    served.cut[BIG] = 100_000
    served.ignore_range.add(BIG)
    assert (fetch(served, tmp_path / "cache") / BIG).read_bytes() == served.files[BIG]


def test_a_part_of_another_version_is_thrown_away(served: Server, tmp_path: Path) -> None:
    part = tmp_path / "cache" / (BIG + ".part")
    part.parent.mkdir(parents=True)
    part.write_bytes(b"something else " * 100)
    assert (fetch(served, tmp_path / "cache") / BIG).read_bytes() == served.files[BIG]
    whole = tmp_path / "longer" / (BIG + ".part")
    whole.parent.mkdir(parents=True)
    whole.write_bytes(served.files[BIG])  # complete but not yet renamed: the server answers 416
    assert (fetch(served, tmp_path / "longer") / BIG).read_bytes() == served.files[BIG]


def test_wrong_checksum(served: Server, tmp_path: Path) -> None:
    served.files[BIG] = served.files[BIG][:-1] + b"x"
    with pytest.raises(M4Error, match="checksum"):
        fetch(served, tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob("provider*")) and not is_complete(tmp_path / "cache")
    assert len([name for name, _ in served.log if name == BIG]) == 2


def test_missing_file_and_missing_data_set(served: Server, tmp_path: Path) -> None:
    del served.files[BIG]
    with pytest.raises(M4Error, match=r"provider.*404"):
        fetch(served, tmp_path / "cache")
    with pytest.raises(M4Error, match=r"SHA256SUMS.*404"):
        download(Dataset("x", served.url + "gone/"), tmp_path / "other", pause=0.01, progress=False)
    assert [name for name, _ in served.log].count("gone/SHA256SUMS.txt") == 1, "a 404 is not asked again"


def test_a_server_that_is_busy_at_first(served: Server, tmp_path: Path) -> None:
    served.fail = {"SHA256SUMS.txt": 1, BIG: 2}
    assert is_complete(fetch(served, tmp_path / "cache"))


def test_sums_cannot_name_a_file_outside(tmp_path: Path) -> None:
    with pytest.raises(M4Error, match="outside"):
        downloads.parse_sums("a" * 64 + " ../../etc/x.csv.gz\n")
    assert downloads.parse_sums("b" * 64 + "  ./hosp/a.csv.gz\nnonsense\n") == {"hosp/a.csv.gz": "b" * 64}


def nowhere() -> Dataset:
    return Dataset("demo", "http://127.0.0.1:9/files/")  # the discard port: nobody answers


def resolve(tmp_path: Path, source: str = "mimic-iv", **options: object) -> RawSource:
    settings: dict = {"cache": tmp_path / "cache", "retries": 0, "progress": False, "dataset": nowhere(), "stays": 20, **options}
    return resolve_raw(source, **settings)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("M4_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def test_the_order_of_places(served: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = Dataset("demo", served.url)
    assert resolve(tmp_path, dataset=dataset).origin == "download"
    assert resolve(tmp_path, dataset=dataset) == RawSource(tmp_path / "cache" / "demo", "cache")
    shared = tmp_path / "shared"
    demo = raw_folder(shared / "data" / "mimic-iv-demo")
    assert resolve(tmp_path, dataset=dataset, shared=shared) == RawSource(demo, "shared")
    monkeypatch.setenv("M4_DATA", str(tmp_path / "own"))
    own = raw_folder(tmp_path / "own" / "mimic-iv")
    assert resolve(tmp_path, shared=shared) == RawSource(own, "M4_DATA")
    monkeypatch.setenv("M4_DATA", str(own))
    assert resolve(tmp_path, shared=shared) == RawSource(own, "M4_DATA")
    given = raw_folder(tmp_path / "given")
    assert resolve(tmp_path, raw=given, shared=shared) == RawSource(given, "given")


def test_m4_data_that_holds_another_source_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw_folder(tmp_path / "own" / "mimic-iv")
    monkeypatch.setenv("M4_DATA", str(tmp_path / "own"))
    demo = raw_folder(tmp_path / "shared" / "data" / "eicu-demo", "eicu")
    assert resolve(tmp_path, "eicu", shared=tmp_path / "shared") == RawSource(demo, "shared")
    monkeypatch.setenv("M4_DATA", str(tmp_path / "not there"))
    with pytest.raises(M4Error, match="M4_DATA"):
        resolve(tmp_path, "eicu", shared=tmp_path / "shared")


def test_a_given_folder_must_be_right(tmp_path: Path) -> None:
    raw = raw_folder(tmp_path / "raw")
    (raw / "icu" / "chartevents.csv").unlink()
    with pytest.raises(M4Error, match="chartevents"):
        resolve(tmp_path, raw=raw)


def test_without_a_network_nothing_is_invented_unasked(tmp_path: Path) -> None:
    with pytest.raises(M4Error, match=r"cannot be reached.*--raw"):
        resolve(tmp_path, allow_synthetic=False)
    with pytest.raises(M4Error, match="not allowed"):
        resolve(tmp_path, allow_download=False, allow_synthetic=False)


@pytest.mark.parametrize("source", ["mimic-iv", "eicu"])
def test_without_a_network_synthetic_data_with_the_reason(source: str, tmp_path: Path) -> None:
    found = resolve(tmp_path, source)
    assert found.origin == "synthetic" and "cannot be reached" in found.reason
    assert "not real patients" in str(found) and "cannot be reached" in str(found)
    assert resolve(tmp_path, source).path == found.path
    assert (found.path / "hosp").is_dir() is (source == "mimic-iv")


def test_wrong_checksum_leads_to_synthetic_data_with_the_reason(served: Server, tmp_path: Path) -> None:
    served.files[BIG] += b"x"
    found = resolve(tmp_path, dataset=Dataset("demo", served.url))
    assert found.origin == "synthetic" and "checksum" in found.reason


def test_cache_folder_follows_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert sources.cache_folder() == tmp_path / "m4bench"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert sources.cache_folder() == tmp_path / ".cache" / "m4bench"
