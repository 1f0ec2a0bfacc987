"""Whatever lies in the output's place gets the score that the rules give, and the reason in words."""

from __future__ import annotations

import errno
import gzip
import json
import os
import re
import socket
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from m4lib.evaluation import evaluate_files

from .conftest import CONTRACT, REFERENCE

RIGHT = REFERENCE
ERROR = None  # an evaluation error: reward 0, one errored check
TIMES = "stay_id,v\n1,2150-01-01 10:00:00\n2,2150-01-02 00:00:00\n"
FLAGS = "stay_id,v\n1,1\n2,0\n"


def utf16(text):
    return text.encode("utf-16")


# name, output, expected reward (ERROR: evaluation error), words of the reason, reference
TEXTS = [
    ("zero bytes", b"", ERROR, "empty", RIGHT),
    ("only line ends", b"\n\n\r\n", ERROR, "empty", RIGHT),
    ("only blanks", b"   \n  \n", ERROR, "empty|key column", RIGHT),
    ("header only", "stay_id,v\n", 0.0, "no rows", RIGHT),
    ("header without a line end", "stay_id,v", 0.0, "no rows", RIGHT),
    ("header and blank lines", "stay_id,v\n\n\n", 0.0, "no rows", RIGHT),
    ("binary", bytes(range(256)) * 40, ERROR, "UTF-8", RIGHT),
    ("an executable's head", b"\x7fELF\x02\x01\x01\x00" + b"\x00" * 500, ERROR, "key column|read", RIGHT),
    ("a database", b"SQLite format 3\x00" + b"\x00" * 4096, ERROR, "key column|read", RIGHT),
    ("NUL bytes", b"\x00" * 100_000, ERROR, "key column|read|empty", RIGHT),
    ("NUL inside a cell cuts it", b"stay_id,v\n1,1\x00zzz\n2,2\n3,3\n4,4\n", 1.0, None, RIGHT),
    ("UTF-16", utf16(RIGHT), ERROR, "UTF-8", RIGHT),
    ("Latin-1", "stay_id,v\n1,Fièvre\n".encode("latin-1"), ERROR, "UTF-8", RIGHT),
    ("half a character at the end", RIGHT.encode() + "5,é".encode()[:-1], ERROR, "UTF-8", RIGHT),
    ("surrogates", b"stay_id,v\n1,\xed\xa0\x80\n", ERROR, "UTF-8", RIGHT),
    ("byte-order mark", b"\xef\xbb\xbf" + RIGHT.encode(), 1.0, None, RIGHT),
    ("byte-order mark and quoted header", b'\xef\xbb\xbf"stay_id","v"\n' + RIGHT.encode()[10:], 1.0, None, RIGHT),
    ("CRLF", RIGHT.replace("\n", "\r\n"), 1.0, None, RIGHT),
    ("CR alone", RIGHT.replace("\n", "\r"), 1.0, None, RIGHT),
    ("mixed line ends", "stay_id,v\r\n1,1\n2,2\r3,3\r\n4,4", 1.0, None, RIGHT),
    ("no last line end", RIGHT[:-1], 1.0, None, RIGHT),
    ("blank lines between", RIGHT.replace("\n", "\n\n"), 1.0, None, RIGHT),
    ("a line of blanks", RIGHT.replace("2,2\n", "2,2\n   \n"), 1.0, None, RIGHT),
    ("blank lines first", "\n\n" + RIGHT, 1.0, None, RIGHT),
    ("everything quoted", re.sub(r"(\w+)", r'"\1"', RIGHT), 1.0, None, RIGHT),
    ("quote in a cell", 'stay_id,v\n1,a"b\n', 1.0, None, 'stay_id,v\n1,"a""b"\n'),
    ("text after a closing quote", 'stay_id,v\n1,"a"b\n', 1.0, None, "stay_id,v\n1,ab\n"),
    ("open quote", 'stay_id,v\n1,1\n2,"2\n3,3\n', ERROR, "read as CSV", RIGHT),
    ("line end in quotes", 'stay_id,v\n1,"a\nb"\n', 1.0, None, 'stay_id,v\n1,"a\nb"\n'),
    ("ragged: a later row too long", "stay_id,v\n1,1\n2,2,3,4\n", ERROR, "Expected 2 fields in line 3", RIGHT),
    ("ragged: the first row too long", "stay_id,v\n1,1,9\n2,2\n3,3\n4,4\n", 0.0, "differ", RIGHT),
    ("ragged: a row too short", "stay_id,v\n1,1\n2\n3,3\n4,4\n", 0.75, "differ", RIGHT),
    ("a trailing comma in every row", "stay_id,v\n1,1,\n2,2,\n3,3,\n4,4,\n", 0.0, "differ", RIGHT),
    ("a million commas", "stay_id,v" + "," * 1_000_000 + "\n", ERROR, "columns", RIGHT),
    ("a row of a million commas", "stay_id,v\n1,1\n" + "," * 1_000_000 + "\n", ERROR, "read as CSV|columns", RIGHT),
    ("two equal headers", "stay_id,v,v\n1,1,9\n2,2,9\n3,3,9\n4,4,9\n", 1.0, None, RIGHT),
    ("two equal keys in the header", "stay_id,stay_id,v\n1,9,1\n2,9,2\n3,9,3\n4,9,4\n", 1.0, None, RIGHT),
    ("header in another case", RIGHT.replace("stay_id", "STAY_ID"), ERROR, "key column stay_id", RIGHT),
    ("value header in another case", RIGHT.replace(",v", ",V"), 0.0, "(?i)columns are missing: v", RIGHT),
    ("blank in a header", RIGHT.replace(",v", ", v"), 0.0, "(?i)columns are missing: v", RIGHT),
    ("columns in another order", "v,x,stay_id\n1,0,1\n2,0,2\n3,0,3\n4,0,4\n", 1.0, None, RIGHT),
    ("semicolons", RIGHT.replace(",", ";"), ERROR, "key column", RIGHT),
    ("tabs", RIGHT.replace(",", "\t"), ERROR, "key column", RIGHT),
    ("a comment first", "# mine\n" + RIGHT, ERROR, "key column|read", RIGHT),
    ("JSON", '[{"stay_id": 1, "v": 1}]', ERROR, "key column|read", RIGHT),
    ("an error message", "Traceback (most recent call last):\n  File", ERROR, "key column|read", RIGHT),
    ("quoted numbers", 'stay_id,v\n"1","1"\n"2","2"\n"3","3"\n"4","4"\n', 1.0, None, RIGHT),
    ("padded numbers", "stay_id,v\n 1, 1\n2 ,2 \n3,3\n4,4\n", 1.0, None, RIGHT),
    ("leading zeros and signs", "stay_id,v\n01,+1\n002,2\n+3,03\n4,4\n", 1.0, None, RIGHT),
    ("thousands separators", 'stay_id,v\n1,"1,000"\n2,2\n3,3\n4,4\n', 0.75, "differ", "stay_id,v\n1,1000\n2,2\n3,3\n4,4\n"),
    ("1e3 among whole numbers", "stay_id,v\n1,1e3\n2,2\n3,3\n4,4\n", 1.0, None, "stay_id,v\n1,1000\n2,2\n3,3\n4,4\n"),
    ("hexadecimal is text", "stay_id,v\n1,0x1\n2,2\n3,3\n4,4\n", 0.75, "differ", RIGHT),
    ("underscores are text", "stay_id,v\n1,1_0\n2,2\n3,3\n4,4\n", 0.75, "differ", RIGHT),
    ("infinity does not match itself", "stay_id,v\n1,inf\n2,2\n", 0.5, "differ", "stay_id,v\n1,inf\n2,2\n"),
    ("the word nan", "stay_id,v\n1,nan\n2,2\n3,3\n4,4\n", 0.75, "differ", RIGHT),
    ("the words of nothing", "stay_id,v\n1,NA\n2,NULL\n3,None\n4,N/A\n", 0.0, "differ", "stay_id,v\n1,\n2,\n3,\n4,\n"),
    ("booleans for 1 and 0", "stay_id,v\n1,TRUE\n2,false\n", 1.0, None, FLAGS),
    ("booleans on both sides", "stay_id,v\n1,True\n2,False\n", ERROR, "cannot be compared", "stay_id,v\n1,True\n2,False\n"),
    ("yes and no", "stay_id,v\n1,yes\n2,no\n", 0.0, "differ", FLAGS),
    ("T between date and time", TIMES.replace(" ", "T"), 1.0, None, TIMES),
    ("fractions of zero", TIMES.replace(":00\n", ":00.000\n"), 1.0, None, TIMES),
    ("minutes only", TIMES.replace(":00\n", "\n"), 1.0, None, TIMES),
    ("US dates", "stay_id,v\n1,01/01/2150 10:00:00\n2,01/02/2150 00:00:00\n", 1.0, None, TIMES),
    ("two notations", TIMES.replace("01-02 00:00:00", "01-02"), 0.5, "differ", TIMES),
    ("UTC times", TIMES.replace(":00\n", ":00Z\n"), ERROR, "cannot be compared", TIMES),
    ("times with an offset", TIMES.replace(":00\n", ":00+02:00\n"), ERROR, "cannot be compared", TIMES),
    ("the 25th hour", TIMES.replace("10:00:00", "25:00:00"), 0.5, "differ", TIMES),
    ("the year 9999", TIMES.replace("2150-01-01", "9999-01-01"), 0.5, "differ", TIMES),
    ("a null key", RIGHT + ",7\n", ERROR, "joined", RIGHT),
    ("a stray word in the key", RIGHT + "total,10\n", ERROR, "joined", RIGHT),
    ("dates as keys", "stay_id,v\n2150-01-01,1\n2150-01-02,2\n", ERROR, "joined", RIGHT),
    ("a key of many digits", RIGHT + "9" * 5000 + ",1\n", ERROR, "joined", RIGHT),
    ("keys beyond 2**64", RIGHT + "99999999999999999999999,1\n", 0.8, "not in the reference", RIGHT),
    ("keys near 2**63", RIGHT + "9223372036854775807,1\n", 0.8, "not in the reference", RIGHT),
    ("fractional keys", "stay_id,v\n1.5,1\n2,2\n3,3\n4,4\n", 0.6, "missing", RIGHT),
    ("infinite keys", "stay_id,v\ninf,1\n2,2\n3,3\n4,4\n", 0.6, "missing", RIGHT),
    ("a number of ten thousand digits", "stay_id,v\n1," + "1" * 10_000 + "\n2,2\n3,3\n4,4\n", 0.75, "differ", RIGHT),
    ("a number of 400 digits", "stay_id,v\n1," + "1" * 400 + "\n2,2\n3,3\n4,4\n", 0.75, "differ", RIGHT),
    ("a fraction of a million digits", "stay_id,v\n1,1." + "0" * 1_000_000 + "\n2,2\n3,3\n4,4\n", 1.0, None, RIGHT),
    ("formulas", "stay_id,v\n1,=1+1\n2,2\n3,3\n4,4\n", 0.75, "differ", RIGHT),
    ("combining letters are not composed", "stay_id,v\n1,e\u0301\n", 0.0, "differ", "stay_id,v\n1,\u00e9\n"),
    ("full-width digits are text", "stay_id,v\n1,\uff11\n2,2\n3,3\n4,4\n", 0.75, "differ", RIGHT),
    ("bidirectional marks in a header", "stay_id,\u202ev\n1,1\n", 0.0, "(?i)columns are missing", RIGHT),
    ("line separators are no line ends", "stay_id,v\n1,a\u2028b\n", 1.0, None, "stay_id,v\n1,a\u2028b\n"),
    ("vertical tab and form feed", "stay_id,v\n1,\x0b1\n2,2\x0c\n3,3\n4,4\n", 1.0, None, RIGHT),
    ("all rows twice", RIGHT + RIGHT[10:], 0.5, "rows repeat a key", RIGHT),
    ("header in the middle", RIGHT + RIGHT, ERROR, "joined", RIGHT),
    ("gzip bytes under a plain name", gzip.compress(RIGHT.encode()), ERROR, "UTF-8", RIGHT),
]


@pytest.mark.parametrize(("output", "reward", "words", "reference"), [case[1:] for case in TEXTS], ids=[case[0] for case in TEXTS])
def test_texts(score, output, reward, words, reference):
    result = score(output, reference)
    json.dumps(result, allow_nan=False)
    if reward is ERROR:
        assert (result["reward"], result["errors"], result["total"], result["match_rates"]) == (0.0, 1, 1, {"v": 0.0})
        assert result["diagnostics_failed"] is True
    else:
        assert (result["reward"], result["errors"], result["total"]) == (pytest.approx(reward, abs=1e-8), 0, 5), result["reason"]
    if words is None:
        assert result["reason"] is None
    else:
        assert re.search(words, result["reason"]), result["reason"]


def is_error(result, words):
    assert (result["reward"], result["errors"], result["total"]) == (0.0, 1, 1)
    assert re.search(words, result["reason"]), result["reason"]


def test_no_file(score, tmp_path):
    result = score(tmp_path / "absent.csv")
    assert (result["match_rates"], result["diagnostics_failed"], result["key_precision"]) == ({}, None, 0.0)
    is_error(result, "no output file")


@pytest.mark.parametrize("path", ["a\0b.csv", "x" * 5000, "reference.csv/inside"])
def test_impossible_names(tmp_path, path):
    (tmp_path / "reference.csv").write_text(REFERENCE)
    result = evaluate_files(os.path.join(tmp_path, path), tmp_path / "reference.csv", CONTRACT)
    is_error(result, "no output file")


def test_links_are_never_followed(score, tmp_path):
    (tmp_path / "secret.csv").write_text(REFERENCE)
    os.symlink(tmp_path / "secret.csv", tmp_path / "link.csv")
    is_error(score(tmp_path / "link.csv"), "symbolic link")
    os.symlink(tmp_path / "nowhere", tmp_path / "dangling.csv")
    is_error(score(tmp_path / "dangling.csv"), "symbolic link")
    os.symlink("loop.csv", tmp_path / "loop.csv")
    is_error(score(tmp_path / "loop.csv"), "symbolic link")


def test_special_files(score, tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    is_error(score(tmp_path / "pipe.csv"), "pipe")
    (tmp_path / "folder.csv").mkdir()
    is_error(score(tmp_path / "folder.csv"), "directory")
    is_error(score(Path("/dev/zero")), "device")
    with socket.socket(socket.AF_UNIX) as bound:
        here = os.getcwd()
        os.chdir(tmp_path)
        try:
            bound.bind("s.csv")
        finally:
            os.chdir(here)
        is_error(score(tmp_path / "s.csv"), "pipe, socket|opened")


def test_unreadable_file(score, monkeypatch):
    def refuse(path, flags, *rest):
        raise PermissionError(errno.EACCES, "Permission denied")

    reference = score(REFERENCE)  # before the refusal: a reference that opens
    assert reference["reward"] == 1.0
    true_open = os.open
    monkeypatch.setattr(os, "open", lambda path, *rest: refuse(path, *rest) if str(path).endswith("output.csv") else true_open(path, *rest))
    is_error(score(REFERENCE), "cannot be opened: Permission denied")


def test_gzip(score):
    good = gzip.compress(REFERENCE.encode())
    assert score(good, name="output.csv.gz")["reward"] == 1.0
    assert score(gzip.compress(REFERENCE[:14].encode()) + gzip.compress(REFERENCE[14:].encode()), name="output.csv.gz")["reward"] == 1.0
    assert score(good + b"\0" * 512, name="output.csv.GZ")["reward"] == 1.0
    assert score(good, name="output")["reward"] == 1.0  # no telling ending: the first bytes decide
    is_error(score(good[:-9], name="output.csv.gz"), "gzip")
    is_error(score(good + b"garbage", name="output.csv.gz"), "gzip")
    is_error(score(good[:30] + b"\xff" * 10 + good[40:], name="output.csv.gz"), "gzip|UTF-8")
    is_error(score(REFERENCE, name="output.csv.gz"), "gzip")
    is_error(score(b"", name="output.csv.gz"), "gzip")


def bomb(path, pattern, size):
    """`size` bytes of a pattern behind gzip, written without holding them."""
    engine = zlib.compressobj(9, wbits=31)
    block = pattern * (8_000_000 // len(pattern))
    with open(path, "wb") as handle:
        handle.write(engine.compress(REFERENCE.encode()))
        for _ in range(size // len(block)):
            handle.write(engine.compress(block))
        handle.write(engine.flush())


LIMITED = """
import json, resource, sys
from m4lib.evaluation import evaluate_files
from m4lib.evaluation import opening
if len(sys.argv) > 4: opening.MAX_BYTES = int(sys.argv[4])
result = evaluate_files(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps([result["reward"], result["errors"], result["reason"], peak]))
"""


def limited(output, tmp_path, *arguments):
    """(reward, errors, reason, peak memory in bytes) from a process of its own."""
    (tmp_path / "reference.csv").write_text(REFERENCE)
    command = [sys.executable, "-W", "ignore", "-c", LIMITED, str(output), str(tmp_path / "reference.csv"), json.dumps(CONTRACT)]
    done = subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True, check=True, timeout=600)
    return json.loads(done.stdout)


def test_five_gigabytes_of_nothing(tmp_path):
    path = tmp_path / "output.csv"
    with open(path, "wb") as handle:
        handle.truncate(5 << 30)  # sparse
    reward, errors, reason, peak = limited(path, tmp_path)
    assert (reward, errors) == (0.0, 1)
    assert reason
    assert peak < 2 << 30


def test_gzip_bomb_of_rows_gets_its_score(tmp_path):
    bomb(tmp_path / "output.csv.gz", b"9,9\n", 40_000_000)
    reward, errors, reason, peak = limited(tmp_path / "output.csv.gz", tmp_path)
    rows = 40_000_000 // 4
    assert errors == 0
    assert reward == pytest.approx(4 / (4 + rows), abs=1e-8)
    assert "repeat" in reason
    assert peak < 2 << 30


def test_gzip_bomb_of_one_cell(tmp_path):
    bomb(tmp_path / "output.csv.gz", b"7", 60_000_000)
    reward, errors, _, peak = limited(tmp_path / "output.csv.gz", tmp_path)
    assert (reward, errors) == (0.0, 1)  # a key that is no number
    assert peak < 3 << 30


def test_gzip_bomb_of_commas(tmp_path):
    bomb(tmp_path / "output.csv.gz", b",", 100_000_000)
    reward, errors, reason, peak = limited(tmp_path / "output.csv.gz", tmp_path)
    assert (reward, errors) == (0.0, 1)
    assert reason
    assert peak < 3 << 30


def test_bytes_beyond_the_limit_are_refused_in_words(tmp_path):
    bomb(tmp_path / "output.csv.gz", b"9,9\n", 64_000_000)
    reward, errors, reason, _ = limited(tmp_path / "output.csv.gz", tmp_path, 32_000_000)
    assert (reward, errors) == (0.0, 1)
    assert "refused" in reason


def test_a_value_of_a_hundred_million_digits(tmp_path):
    with open(tmp_path / "output.csv", "w") as handle:
        handle.write("stay_id,v\n1,")
        for _ in range(10):
            handle.write("1" * 10_000_000)
        handle.write("\n2,2\n3,3\n4,4\n")
    reward, errors, _, peak = limited(tmp_path / "output.csv", tmp_path)
    assert (reward, errors) == (0.75, 0)
    assert peak < 3 << 30


class TestParquet:
    def write(self, tmp_path, table, name="output.parquet"):
        pq.write_table(table, tmp_path / name)
        return tmp_path / name

    def test_same_content(self, score, tmp_path):
        assert score(self.write(tmp_path, pa.table({"stay_id": [1, 2, 3, 4], "v": [1.0, 2, 3, 4]})))["reward"] == 1.0

    def test_without_a_telling_name(self, score, tmp_path):
        assert score(self.write(tmp_path, pa.table({"stay_id": [1, 2, 3, 4], "v": [1, 2, 3, 4]}), "output"))["reward"] == 1.0

    def test_gzip(self, score, tmp_path):
        inner = self.write(tmp_path, pa.table({"stay_id": [1, 2, 3, 4], "v": [1, 2, 3, 4]}))
        (tmp_path / "output.parquet.gz").write_bytes(gzip.compress(inner.read_bytes()))
        assert score(tmp_path / "output.parquet.gz")["reward"] == 1.0

    @pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + b"\0" * 100 + b"PAR1", REFERENCE.encode(), os.urandom(5000)])
    def test_broken(self, score, content):
        is_error(score(content, name="output.parquet"), "Parquet")

    def test_tampered(self, score, tmp_path):
        path = self.write(tmp_path, pa.table({"stay_id": list(range(1000)), "v": list(range(1000))}))
        whole = path.read_bytes()
        for at in range(4, len(whole), 97):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
            assert 0.0 <= score(path)["reward"] <= 1.0

    def test_nested_columns(self, score, tmp_path):
        path = self.write(tmp_path, pa.table({"stay_id": [1, 2, 3, 4], "v": [[1], [2], [3], [4]]}))
        assert score(path)["reward"] == 0.0

    def test_csv_named_parquet_columns(self, score, tmp_path):
        path = self.write(tmp_path, pa.table({"stay_id": pa.array(["1", "2", "3", "4"]), "v": pa.array(["1", "2", "3", "x"])}))
        assert score(path)["reward"] == 0.75

    def test_no_rows_and_no_columns(self, score, tmp_path):
        assert score(self.write(tmp_path, pa.table({"stay_id": pa.array([], pa.int64()), "v": pa.array([], pa.int64())})))["reward"] == 0
        is_error(score(self.write(tmp_path, pa.table({}))), "key column")

    @pytest.mark.parametrize("kind", ["reference", "output", "both"])
    def test_is_the_csv_with_the_same_content(self, tmp_path, kind):
        rng = np.random.default_rng(5)
        truth = pd.DataFrame({
            "stay_id": np.arange(400), "long": rng.random(400), "short": rng.random(400).round(3), "whole": rng.integers(0, 9, 400),
            "gap": np.where(rng.random(400) < 0.2, np.nan, rng.integers(0, 9, 400)), "flag": rng.random(400) < 0.5,
            "when": pd.Timestamp("2150-01-01") + pd.to_timedelta(rng.integers(0, 10**6, 400), unit="s"),
            "day": pd.Timestamp("2150-01-01") + pd.to_timedelta(rng.integers(0, 99, 400), unit="D"),
            "label": rng.choice(["None", "Trach", "HFNC"], 400),
        })
        output = truth.copy()
        output.loc[::7, ["long", "short", "whole", "gap"]] += 1
        output.loc[::9, "label"] = "x"
        output["flag"] = output["flag"].astype(int)
        output = output.iloc[3:]
        contract = {"key_columns": ["stay_id"], "value_columns": list(truth.columns[1:])}
        for name, frame in (("r", truth), ("o", output)):
            frame.to_csv(tmp_path / f"{name}.csv", index=False)
            frame.to_parquet(tmp_path / f"{name}.parquet", index=False)
        want = evaluate_files(tmp_path / "o.csv", tmp_path / "r.csv", contract)
        got = evaluate_files(
            tmp_path / ("o.csv" if kind == "reference" else "o.parquet"), tmp_path / ("r.csv" if kind == "output" else "r.parquet"), contract
        )
        assert got == want
        assert want["match_rates"]["day"] == want["match_rates"]["when"] == pytest.approx(397 / 400)
