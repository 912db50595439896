"""Hostile uploads: zips and plans files that lie, and requests that do."""

import io
import json
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.fakes.checkpoints import zipped
from tests.hostile.checkpoints.base import honest

CHECKPOINT, PLANS = "checkpoint_file", "plans_file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A hostile upload."""

    name: str
    build: Callable[[], bytes]
    """The file's bytes."""
    field: str = CHECKPOINT
    """Of the form."""
    filename: str = "model.zip"


def _zip(files: Mapping[str, bytes], *, method: int = zipfile.ZIP_DEFLATED, base: bool = True) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in {**(honest() if base else {}), **files}.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def _of_mode(mode: int) -> bytes:
    """The honest zip whose settings are a file of another kind."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in honest().items():
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16 if name == "config.json" else 0
            archive.writestr(info, data)
    return buffer.getvalue()


def _patched(data: bytes, *, at: bytes, offset: int, new: bytes) -> bytes:
    """With other bytes in every record that begins with a signature."""
    changed, where = bytearray(data), data.find(at)
    while where >= 0:
        changed[where + offset : where + offset + len(new)] = new
        where = data.find(at, where + 4)
    return bytes(changed)


_LOCAL, _CENTRAL, _END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"


def _in_both(local: int, central: int, new: bytes) -> bytes:
    """The honest zip with other bytes at these offsets of each entry's two records."""
    return _patched(_patched(_zip({}), at=_CENTRAL, offset=central, new=new), at=_LOCAL, offset=local, new=new)


def _zip_in_a_zip() -> bytes:
    inner = _zip({"vocab.json": b" " * 50_000_000})
    for _ in range(3):
        inner = _zip({"model.zip": inner}, base=False)
    return inner


def _entries_that_overlap() -> bytes:
    """Every entry of the listing is the same bytes: what is small unpacks to hundreds of times as much."""
    data = _zip({"vocab.json": b" " * 5_000_000}, base=False)
    at = data.find(_CENTRAL)
    record, end = data[at : data.find(_END)], bytearray(data[data.find(_END) :])
    count = 150
    struct.pack_into("<HHL", end, 8, count, count, len(record) * count)
    return data[:at] + record * count + bytes(end)


def _zip64_that_lies() -> bytes:
    data = _zip({})
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 2**63, 2**63, 2**62, 2**62)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, len(data) - 22, 1)
    end = struct.pack("<4s4H2LH", _END, 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return data[:-22] + record + locator + end


def _stream_without_its_end() -> bytes:
    packer = zlib.compressobj(wbits=-15)
    data = _zip({"vocab.json": b"x" * 1_000_000})
    cut = packer.compress(b"x" * 1_000_000) + packer.flush(zlib.Z_SYNC_FLUSH)
    return data[:-2000] + cut + data[-2000:]


def _two_listings() -> bytes:
    second = _zip({})
    return second + _zip({"config.json": b"{}"}) + second[-22:]


def _comment_with_another_end() -> bytes:
    comment = struct.pack("<4s4H2LH", _END, 0, 0, 1, 1, 46, 0, 0)
    return _zip({})[:-2] + struct.pack("<H", len(comment)) + comment


_CHECKPOINTS: dict[str, Callable[[], bytes]] = {
    "a bomb": lambda: _zip({"vocab.json": b" " * 200_000_000}),
    "a bomb in settings": lambda: _zip({"config.json": b'{"a": "' + b"x" * 100_000_000 + b'"}'}),
    "a zip in a zip": _zip_in_a_zip,
    "entries that overlap": _entries_that_overlap,
    "a symbolic link": lambda: _of_mode(stat.S_IFLNK | 0o777),
    "a device": lambda: _of_mode(stat.S_IFCHR | 0o666),
    "a place above": lambda: _zip({"../../../../tmp/planarena-hostile": b"x", "..\\..\\planarena-hostile": b"x"}),
    "an absolute place": lambda: _zip({"/tmp/planarena-hostile": b"x", "C:\\planarena-hostile": b"x"}),
    "a name with NUL": lambda: _zip({"config.json": b"{}", "cXnfig.json": b"{}"}).replace(
        b"cXnfig.json", b"c\x00nfig.json"),
    "names that fold together": lambda: _zip(
        {"CONFIG.JSON": b"{}", "con\u017fig.json": b"{}", "\uff43onfig.json": b"{}"}),
    "one name twice": lambda: _zip({"config.jsoN": b'{"model_type": "bloom"}'}).replace(b"config.jsoN", b"config.json"),
    "a hundred thousand files": lambda: _zip({f"{at}": b"" for at in range(100_000)}, method=zipfile.ZIP_STORED),
    "an encrypted file": lambda: _in_both(6, 8, b"\x01\x00"),
    "sizes that lie": lambda: _in_both(22, 24, struct.pack("<L", 10)),
    "a size of 4 gigabytes": lambda: _patched(_zip({}), at=_CENTRAL, offset=24, new=b"\xfe\xff\xff\xff"),
    "checksums that lie": lambda: _patched(_zip({}), at=_CENTRAL, offset=16, new=bytes(4)),
    "zip64 that lies": _zip64_that_lies,
    "an unusual method": lambda: _zip({}, method=zipfile.ZIP_LZMA),
    "a stream without its end": _stream_without_its_end,
    "no zip": lambda: b"\x7fELF" + bytes(200_000),
    "a picture that is a zip": lambda: b"GIF89a/*" + _zip({"config.json": b"[]"}) + b"*/=1;",
    "two listings": _two_listings,
    "a comment with another end": _comment_with_another_end,
    "nothing": lambda: b"",
    "an empty zip": lambda: _zip({}, base=False),
}  # fmt: skip
_PLANS: dict[str, Callable[[], bytes]] = {
    "plans nested deeply": lambda: b'{"1": ' + b"[" * 500_000,
    "plans with a huge integer": lambda: b'{"1": {"steps": [], "answers": [], "x": 1' + b"0" * 2_000_000 + b"}}",
    "plans with numbers that are none": lambda: b'{"1": {"steps": [NaN, 1e999]}}',
    "plans for a million tasks": lambda: json.dumps({str(at): "" for at in range(500_000)}).encode(),
    "plans of nine megabytes": lambda: b'{"1": "' + b"x" * 9_000_000 + b'"}',
    "plans that are no text": lambda: b"\xff\xfe" + bytes(range(256)) * 100,
    "plans with markup for tasks": lambda: json.dumps(
        {"<script>alert(1)</script>": "x", "\u202e": "y", "a\x00b": "z"}).encode(),
}  # fmt: skip
UPLOADS = [
    *(Upload(name=name, build=build) for name, build in _CHECKPOINTS.items()),
    Upload(name="a filename that climbs", filename="../../../etc/cron.d/x\x00.zip",
           build=lambda: zipped({"config.json": b"{}"})),
    *(Upload(name=name, build=build, field=PLANS, filename="plans.json") for name, build in _PLANS.items()),
    Upload(name="plans in a million lines", field=PLANS, filename="plans.jsonl",
           build=lambda: b'{"task": "1", "plan": ""}\n' * 270_000),
]  # fmt: skip
