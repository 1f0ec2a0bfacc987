"""Archives that mean harm leave nothing behind."""

from __future__ import annotations

import io
import tarfile

import pytest
import zstandard

from m4lib.errors import M4Error
from m4lib.evidence.unpack import unpack


def archive(path, *members, repeat=1):
    """members: (name, bytes) or TarInfo."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for member in members * repeat:
            info = member if isinstance(member, tarfile.TarInfo) else tarfile.TarInfo(member[0])
            data = b"" if isinstance(member, tarfile.TarInfo) else member[1]
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    path.write_bytes(zstandard.ZstdCompressor().compress(plain.getvalue()))
    return path


def special(name, kind, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def test_a_good_archive(tmp_path):
    made = archive(tmp_path / "a.tar.zst", ("p/a.txt", b"one"), ("p/deep/er/b.txt", b"two"))
    assert unpack(made, tmp_path / "out") == 2
    assert (tmp_path / "out/p/deep/er/b.txt").read_bytes() == b"two"
    with pytest.raises(M4Error, match="exists already"):
        unpack(made, tmp_path / "out")


@pytest.mark.parametrize("member, why", [
    (("../evil", b"x"), "leads out"), (("/tmp/evil", b"x"), "leads out"), (("p/../../evil", b"x"), "leads out"), (("a\\..\\evil", b"x"), "leads out"), (("C:/evil", b"x"), "leads out"),
    (("a\nb", b"x"), "leads out"), (special("link", tarfile.SYMTYPE, "/etc/passwd"), "a link"), (special("link", tarfile.SYMTYPE, "ok"), "a link"),
    (special("hard", tarfile.LNKTYPE, "../../x"), "a link"), (special("dev", tarfile.CHRTYPE), "a device"), (special("disk", tarfile.BLKTYPE), "a device"),
    (special("pipe", tarfile.FIFOTYPE), "a device"), (("x" * 300, b"x"), "leads out"),
])
def test_members_that_are_refused(tmp_path, member, why):
    made = archive(tmp_path / "a.tar.zst", ("ok.txt", b"fine"), member)
    with pytest.raises(M4Error, match=why):
        unpack(made, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["a.tar.zst"]


def test_bombs(tmp_path):
    zeros = archive(tmp_path / "z.tar.zst", ("zeros", bytes(40 << 20)))
    assert zeros.stat().st_size < 20_000
    for options in ({}, {"most_bytes": 1 << 20}):
        with pytest.raises(M4Error, match="more than it should"):
            unpack(zeros, tmp_path / "out", **options)
    many = archive(tmp_path / "m.tar.zst", *[(f"f{n}", b"") for n in range(50)])
    with pytest.raises(M4Error, match="more than 20 members"):
        unpack(many, tmp_path / "out", most_files=20)
    twice = archive(tmp_path / "t.tar.zst", ("a", b"1"), ("A", b"2"))
    with pytest.raises(M4Error, match="twice"):
        unpack(twice, tmp_path / "out")
    wide = tmp_path / "w.tar.zst"  # asks for half a gigabyte of memory
    packer = zstandard.ZstdCompressor(compression_params=zstandard.ZstdCompressionParameters(window_log=29)).compressobj()
    wide.write_bytes(packer.compress(bytes(1 << 20)) + packer.flush())
    with pytest.raises(M4Error):
        unpack(wide, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_damage(tmp_path):
    made = archive(tmp_path / "a.tar.zst", ("a", bytes(range(256)) * 4000))
    data = made.read_bytes()
    for damaged in (data[: len(data) // 2], b"no archive", b""):
        made.write_bytes(damaged)
        with pytest.raises(M4Error):
            unpack(made, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["a.tar.zst"]
