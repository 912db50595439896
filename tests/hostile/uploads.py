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
from tests.hostile.checkpoints import honest

CHECKPOINT, PLANS = "checkpoint_file", "plans_file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A hostile upload."""

    name: str
    field: str
    """Of the form."""
    build: Callable[[], bytes]
    """The file's bytes."""
    filename: str = "model.zip"


UPLOADS: list[Upload] = []


def upload(*, field: str = CHECKPOINT, filename: str = "model.zip") -> Callable[[Callable[[], bytes]], None]:
    """Add the decorated function to the corpus, under its own name."""

    def add(build: Callable[[], bytes]) -> None:
        name = build.__name__.strip("_").replace("_", " ")
        UPLOADS.append(Upload(name=name, field=field, build=build, filename=filename))

    return add


def _zip(files: Mapping[str, bytes], *, method: int = zipfile.ZIP_DEFLATED, base: bool = True) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in {**(honest() if base else {}), **files}.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def _with_entry(change: Callable[[zipfile.ZipInfo], None], *, name: str = "config.json") -> bytes:
    """The honest zip with one entry that says something else of itself."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for file, data in honest().items():
            info = zipfile.ZipInfo(file)
            if file == name:
                change(info)
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


@upload()
def _a_bomb() -> bytes:
    return _zip({"vocab.json": b" " * 200_000_000})


@upload()
def _a_bomb_in_settings() -> bytes:
    return _zip({"config.json": b'{"a": "' + b"x" * 100_000_000 + b'"}'})


@upload()
def _a_zip_in_a_zip() -> bytes:
    inner = _zip({"vocab.json": b" " * 50_000_000})
    for _ in range(3):
        inner = _zip({"model.zip": inner}, base=False)
    return inner


@upload()
def _entries_that_overlap() -> bytes:
    """Every entry of the listing is the same bytes: what is small unpacks to hundreds of times as much."""
    data = _zip({"vocab.json": b" " * 5_000_000}, base=False)
    at = data.find(_CENTRAL)
    record, end = data[at : data.find(_END)], bytearray(data[data.find(_END) :])
    count = 150
    struct.pack_into("<HHL", end, 8, count, count, len(record) * count)
    return data[:at] + record * count + bytes(end)


@upload()
def _a_symbolic_link() -> bytes:
    return _with_entry(lambda info: setattr(info, "external_attr", (stat.S_IFLNK | 0o777) << 16))


@upload()
def _a_device() -> bytes:
    return _with_entry(lambda info: setattr(info, "external_attr", (stat.S_IFCHR | 0o666) << 16))


@upload()
def _a_place_above() -> bytes:
    return _zip({"../../../../tmp/planarena-hostile": b"x", "..\\..\\planarena-hostile": b"x"})


@upload()
def _an_absolute_place() -> bytes:
    return _zip({"/tmp/planarena-hostile": b"x", "C:\\planarena-hostile": b"x"})


@upload()
def _a_name_with_nul() -> bytes:
    return _zip({"config.json": b"{}", "cXnfig.json": b"{}"}).replace(b"cXnfig.json", b"c\x00nfig.json")


@upload()
def _names_that_fold_together() -> bytes:
    return _zip({"CONFIG.JSON": b"{}", "con\u017fig.json": b"{}", "\uff43onfig.json": b"{}"})


@upload()
def _one_name_twice() -> bytes:
    return _zip({"config.jsoN": b'{"model_type": "bloom"}'}).replace(b"config.jsoN", b"config.json")


@upload()
def _a_hundred_thousand_files() -> bytes:
    return _zip({f"{at}": b"" for at in range(100_000)}, method=zipfile.ZIP_STORED)


@upload()
def _an_encrypted_file() -> bytes:
    data = _patched(_zip({}), at=_CENTRAL, offset=8, new=b"\x01\x00")
    return _patched(data, at=_LOCAL, offset=6, new=b"\x01\x00")


@upload()
def _sizes_that_lie() -> bytes:
    small = struct.pack("<L", 10)
    return _patched(_patched(_zip({}), at=_CENTRAL, offset=24, new=small), at=_LOCAL, offset=22, new=small)


@upload()
def _a_size_of_4_gigabytes() -> bytes:
    return _patched(_zip({}), at=_CENTRAL, offset=24, new=b"\xfe\xff\xff\xff")


@upload()
def _checksums_that_lie() -> bytes:
    return _patched(_zip({}), at=_CENTRAL, offset=16, new=b"\x00\x00\x00\x00")


@upload()
def _zip64_that_lies() -> bytes:
    data = _zip({})
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 2**63, 2**63, 2**62, 2**62)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, len(data) - 22, 1)
    end = struct.pack("<4s4H2LH", _END, 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return data[:-22] + record + locator + end


@upload()
def _an_unusual_method() -> bytes:
    return _zip({}, method=zipfile.ZIP_LZMA)


@upload()
def _a_stream_that_never_ends() -> bytes:
    """Deflated data without its last block."""
    packer = zlib.compressobj(wbits=-15)
    data = _zip({"vocab.json": b"x" * 1_000_000})
    cut = packer.compress(b"x" * 1_000_000) + packer.flush(zlib.Z_SYNC_FLUSH)
    return data[:-2000] + cut + data[-2000:]


@upload()
def _no_zip() -> bytes:
    return b"\x7fELF" + bytes(200_000)


@upload()
def _a_picture_that_is_a_zip() -> bytes:
    return b"GIF89a/*" + _zip({"config.json": b"[]"}) + b"*/=1;"


@upload()
def _two_listings() -> bytes:
    first, second = _zip({"config.json": b"{}"}), _zip({})
    return second + first + second[-22:]


@upload()
def _a_comment_with_another_end() -> bytes:
    data = _zip({})
    comment = struct.pack("<4s4H2LH", _END, 0, 0, 1, 1, 46, 0, 0)
    return data[:-2] + struct.pack("<H", len(comment)) + comment


@upload()
def _nothing() -> bytes:
    return b""


@upload()
def _an_empty_zip() -> bytes:
    return _zip({}, base=False)


@upload(filename="../../../etc/cron.d/x\x00.zip")
def _a_filename_that_climbs() -> bytes:
    return zipped({"config.json": b"{}"})


@upload(field=PLANS, filename="plans.json")
def _plans_nested_deeply() -> bytes:
    return b'{"1": ' + b"[" * 500_000


@upload(field=PLANS, filename="plans.json")
def _plans_with_a_huge_integer() -> bytes:
    return b'{"1": {"steps": [], "answers": [], "x": 1' + b"0" * 2_000_000 + b"}}"


@upload(field=PLANS, filename="plans.json")
def _plans_with_numbers_that_are_none() -> bytes:
    return b'{"1": {"steps": [NaN, 1e999]}}'


@upload(field=PLANS, filename="plans.json")
def _plans_for_a_million_tasks() -> bytes:
    return json.dumps({str(at): "" for at in range(500_000)}).encode()


@upload(field=PLANS, filename="plans.json")
def _plans_of_nine_megabytes() -> bytes:
    return b'{"1": "' + b"x" * 9_000_000 + b'"}'


@upload(field=PLANS, filename="plans.json")
def _plans_that_are_no_text() -> bytes:
    return b"\xff\xfe" + bytes(range(256)) * 100


@upload(field=PLANS, filename="plans.json")
def _plans_with_markup_for_tasks() -> bytes:
    return json.dumps({"<script>alert(1)</script>": "x", "\u202e": "y", "a\x00b": "z"}).encode()


@upload(field=PLANS, filename="plans.jsonl")
def _plans_in_a_million_lines() -> bytes:
    return b'{"task": "1", "plan": ""}\n' * 270_000
