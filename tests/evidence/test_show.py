"""One run to look at, from its folder, from a package and from an archive."""

from __future__ import annotations

import pytest

from m4lib.errors import M4Error
from m4lib.evidence import show


def test_the_invented_run(tmp_path):
    run = show.open_run(show.example_run(tmp_path))
    steps = show.timeline(run)
    assert list(steps["kind"]) == ["message", *["tool call"] * 4, "message"] and list(steps["outcome"][1:5]) == ["ok", "failed", "ok", "ok"]
    assert list(steps["seconds"]) == [3.0, 4.2, 9.8, 12.1, 31.5, 33.0]
    sql = show.statements(run)
    assert len(sql) == 4 and sql["sql"].iloc[3].startswith("WITH worst AS (\n    SELECT stay_id")
    assert dict(zip(show.egress(run)["host"], show.egress(run)["requests"], strict=True)) == {"api.openai.com": 5, "telemetry.example.org": 1}
    assert show.scores(run)["matched"].iloc[-1] == pytest.approx(0.35714286) and show.draw(run).axes
    assert "invented output" not in steps.to_string()


def test_the_same_run_from_anywhere(runs, package, published, tmp_path):
    name = sorted(path.name for path in (runs / "beta").glob("*sofa*"))[0]
    local, packed = show.open_run(runs / "beta" / name), show.open_run(package, name)
    archived = show.open_run(published / "test-evidence.tar.zst", name, scratch=tmp_path)
    assert local.title == packed.title == archived.title and local.verdict == packed.verdict
    assert list(show.timeline(local)["kind"]) == ["tool call", "message"]
    assert list(show.timeline(packed)["kind"]) == ["withheld", "tool call", "message"]
    assert show.scores(local).equals(show.scores(packed)) and show.egress(local).equals(show.egress(archived))
    assert packed.trace.input_tokens == local.trace.input_tokens
    for place, what in ((tmp_path / "nowhere", "There is no run"), (tmp_path, "holds no run x")):
        with pytest.raises(M4Error, match=what):
            show.open_run(place, "x")


@pytest.mark.parametrize("text, sql", [
    ("duckdb x.duckdb -c \"SELECT 1 AS one_thing\"", ["SELECT 1 AS one_thing"]),
    ("cat > q.sql <<'SQL'\nCREATE TABLE t AS SELECT 1;\nSELECT * FROM t;\nSQL\n", ["CREATE TABLE t AS SELECT 1", "SELECT * FROM t"]),
    ("Here it is:\n```sql\nWITH a AS (SELECT 1)\nSELECT * FROM a\n```\n", ["WITH a AS (SELECT 1)\nSELECT * FROM a"]),
    ("con.execute('''\n-- all of it\nSELECT count(*)\nFROM x\n''')", ["-- all of it\nSELECT count(*)\nFROM x"]),
    ("I select the rows with care.", []), ("ls -la", []),
])
def test_sql_is_found_where_agents_write_it(text, sql):
    assert show.sql_in(text) == sql
