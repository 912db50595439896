"""Checkpoints as zips: good ones in every usual layout, and a hostile one of each kind."""

import json
import stat
import struct
import zipfile
from pathlib import Path

import pytest

from evaluator.sandbox.admission import checkpoint_zip
from evaluator.sandbox.admission.checkpoint_zip import MOST_FILES, inspect, inspect_confined, unpack
from evaluator.sandbox.admission.rules import ModelRefusedError
from evaluator.sandbox.admission.safetensors_headers import LENGTH_BYTES, HeaderError, header_length, read_header
from tests.fakes.checkpoints import tiny_files
from tests.fakes.strategies import generate
from tests.fakes.tiny_models import t5, unigram

ROOM = 64 * 1024 * 1024


@pytest.fixture(scope="module")
def files():
    """A folder as `save_pretrained` writes it."""
    return tiny_files()


def packed(path: Path, files, *, folder: str = "", method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(f"{folder}{name}", data)
    return path


def refusal(path: Path, *, room: int = ROOM) -> str:
    with pytest.raises(ModelRefusedError) as refused:
        inspect(path, most_unpacked_bytes=room)
    return str(refused.value)


@pytest.mark.parametrize("folder", ["", "my-model/"])
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_checkpoint_may_lie_at_the_top_or_in_one_folder(files, tmp_path, folder, method):
    from evaluator.planners.language_models.local.model import LocalModel

    path = packed(tmp_path / "a.zip", files, folder=folder, method=method)
    facts = unpack(path, folder=tmp_path / "out", most_unpacked_bytes=ROOM)
    assert (facts.architecture, facts.files) == ("gpt2", len(files))
    assert facts.weights_bytes == len(files["model.safetensors"])
    assert {found.name: found.read_bytes() for found in (tmp_path / "out").iterdir()} == files
    model = LocalModel.from_folder(tmp_path / "out")
    assert facts.parameters == sum(each.numel() for each in model.network.module.parameters())
    assert model.answer([generate("text", max_tokens=2)])[0].usage.completion_tokens


def test_weights_may_come_in_parts_with_their_index(tmp_path):
    tokenizer = unigram()
    t5(tokenizer).save_pretrained(tmp_path / "m", max_shard_size="100KB")
    tokenizer.save_pretrained(tmp_path / "m")
    files = {path.name: path.read_bytes() for path in (tmp_path / "m").iterdir()}
    parts = [name for name in files if name.endswith(".safetensors")]
    assert len(parts) > 1
    facts = inspect(packed(tmp_path / "a.zip", files), most_unpacked_bytes=ROOM)
    assert (facts.architecture, facts.weights_bytes) == ("t5", sum(len(files[name]) for name in parts))
    index = "model.safetensors.index.json"
    without = {name: data for name, data in files.items() if name != index}
    assert f"no {index}" in refusal(packed(tmp_path / "b.zip", without))
    lacking = {name: data for name, data in files.items() if name != parts[0]}
    assert f"names '{parts[0]}', which is not in the zip" in refusal(packed(tmp_path / "c.zip", lacking))
    twice = {**files, "model.safetensors": files[parts[0]]}
    assert "does not name it" in refusal(packed(tmp_path / "d.zip", twice))
    assert "no index of weights" in refusal(packed(tmp_path / "e.zip", {**files, index: b'{"weight_map": [1]}'}))


NAMES = {
    "may run code": ["pytorch_model.bin", "model.pt", "optimizer.pkl"],
    "is a program": ["modeling_own.py", "model.safetensors.py"],
    "is no file of a checkpoint": ["run.sh", "Model.safetensors", ".hidden", "adapter_model.safetensors", "a" * 300],
    "outside of its folder": ["../config.json", "m/../../config.json", "./config.json", "a//config.json"],
    "odd name": ["/etc/config.json", "C:/config.json", "a\\config.json"],
    "folders inside": ["a/b/config.json", "other/config.json"],
}


def test_other_files_and_places_outside_of_one_folder_are_refused_by_name(files, tmp_path):
    for complaint, names in NAMES.items():
        for name in names:
            path = packed(tmp_path / "a.zip", {**files, name: b"{}"})
            assert complaint in refusal(path), name
            with pytest.raises(ModelRefusedError):
                unpack(path, folder=tmp_path / "in" / "out", most_unpacked_bytes=ROOM)
            assert not (tmp_path / "in").exists(), name


def test_what_file_managers_add_is_left_out_and_a_folder_is_replaced_as_a_whole(files, tmp_path):
    added = {"m/.DS_Store": b"x", "__MACOSX/m/._config.json": b"x"}
    path = packed(tmp_path / "a.zip", {**{f"m/{name}": data for name, data in files.items()}, **added})
    out = tmp_path / "out"
    out.mkdir()
    (out / "old.txt").write_text("old")
    unpack(path, folder=out, most_unpacked_bytes=ROOM)
    assert {found.name for found in out.iterdir()} == set(files)


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_links_and_devices_are_refused(files, tmp_path, kind):
    link = zipfile.ZipInfo("LICENSE")
    link.external_attr = (kind | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
        archive.writestr(link, "/etc/passwd")
    assert "is a link or device" in refusal(tmp_path / "a.zip")


def test_two_files_of_one_name_are_refused(files, tmp_path):
    path = packed(tmp_path / "a.zip", files)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("config.json", b'{"model_type": "llama"}')
    assert "two files 'config.json'" in refusal(path)


def test_many_files_are_refused(files, tmp_path):
    many = {f"a{number}.model": b"" for number in range(MOST_FILES)}
    assert f"at most {MOST_FILES}" in refusal(packed(tmp_path / "a.zip", {**files, **many}))
    very_many = {f"a{number}.model": b"" for number in range(MOST_FILES * 10)}
    assert f"more than {MOST_FILES} files" in refusal(packed(tmp_path / "b.zip", very_many))


class TestBombs:
    def test_what_says_that_it_is_large(self, files, tmp_path):
        path = packed(tmp_path / "a.zip", {**files, "README.md": b"\0" * 50_000_000})
        assert path.stat().st_size < 1_000_000
        assert "at most 1000000 are possible" in refusal(path, room=1_000_000)

    def test_what_says_that_it_is_small(self, files, tmp_path):
        path = packed(tmp_path / "a.zip", {**files, "README.md": b"\0" * 50_000_000})
        data = path.read_bytes()
        size, lie = struct.pack("<L", 50_000_000), struct.pack("<L", 10)
        assert data.count(size) == 2
        path.write_bytes(data.replace(size, lie))
        assert "cannot be read" in refusal(path)
        with pytest.raises(ModelRefusedError, match="cannot be read"):
            unpack(path, folder=tmp_path / "out", most_unpacked_bytes=ROOM)
        assert not (tmp_path / "out").exists()
        assert [found.name for found in tmp_path.iterdir()] == ["a.zip"]

    def test_settings_that_are_large(self, files, tmp_path):
        large = b'{"model_type": "gpt2", "x": "' + b" " * 5_000_000 + b'"}'
        assert "config.json has" in refusal(packed(tmp_path / "a.zip", {**files, "config.json": large}))

    def test_files_that_lie_over_each_other(self, files, tmp_path):
        path = packed(tmp_path / "a.zip", {**files, "README.md": b"x" * 100, "LICENSE.md": b"y" * 100})
        data = path.read_bytes()
        with zipfile.ZipFile(path) as archive:
            first, second = archive.getinfo("README.md").header_offset, archive.getinfo("LICENSE.md").header_offset
        at = data.rfind(struct.pack("<L", second))
        path.write_bytes(data[:at] + struct.pack("<L", first) + data[at + 4 :])
        with pytest.raises(ModelRefusedError, match="overlaps with what comes after it"):
            unpack(path, folder=tmp_path / "out", most_unpacked_bytes=ROOM)


@pytest.mark.parametrize("data", [b"", b"no zip", b"PK\x03\x04" * 100, b"PK\x05\x06", b"\0" * 1000])
def test_what_is_no_zip(tmp_path, data):
    (tmp_path / "a.zip").write_bytes(data)
    assert "no zip" in refusal(tmp_path / "a.zip")


def test_a_zip_that_is_cut_or_altered_never_unpacks_to_something_else(files, tmp_path):
    whole = packed(tmp_path / "a.zip", files, method=zipfile.ZIP_STORED).read_bytes()
    path = tmp_path / "b.zip"
    for cut in (1, 20, 500, len(whole) // 2, len(whole) - 10):
        path.write_bytes(whole[:-cut])
        assert "zip" in refusal(path)
    at = whole.index(files["model.safetensors"]) + 5000
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    with pytest.raises(ModelRefusedError, match=r"cannot be read: Bad CRC-32 for file 'model.safetensors'"):
        unpack(path, folder=tmp_path / "out", most_unpacked_bytes=ROOM)
    assert not (tmp_path / "out").exists()


def test_encrypted_files_and_odd_compression_are_refused(files, tmp_path):
    path = packed(tmp_path / "a.zip", files)
    data = bytearray(path.read_bytes())
    at = data.find(b"PK\x01\x02")
    data[at + 8] |= 1
    (tmp_path / "b.zip").write_bytes(data)
    assert "is encrypted" in refusal(tmp_path / "b.zip")
    assert "unusual way" in refusal(packed(tmp_path / "c.zip", files, method=zipfile.ZIP_LZMA))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"model.safetensors": None}, "no weights"),
        ({"config.json": None}, "no config.json"),
        ({"tokenizer.json": None}, "no tokenizer"),
        ({"model.safetensors": b"\x80\x04\x95 a pickle that is called so"}, "model.safetensors is no safetensors file"),
        ({"config.json": b"[]"}, "config.json is no JSON object"),
        ({"config.json": b'{"model_type": "own"}'}, "'own'"),
        ({"config.json": b'{"model_type": "gpt2", "auto_map": {"AutoConfig": "x.Y"}}'}, "code of its own"),
        ({"tokenizer_config.json": b'{"auto_map": {"AutoTokenizer": ["x.Y", null]}}'}, "code of its own"),
        ({"tokenizer_config.json": b"7"}, "tokenizer_config.json is no JSON object"),
    ],
)  # fmt: skip
def test_what_is_missing_or_wrong_is_named(files, tmp_path, changes, complaint):
    changed = {name: data for name, data in {**files, **changes}.items() if data is not None}
    assert complaint in refusal(packed(tmp_path / "a.zip", changed))


def test_a_header_that_does_not_fit_its_file_is_named(files, tmp_path):
    weights = files["model.safetensors"]
    for data in (weights[:-4], weights + b"more"):
        sentence = refusal(packed(tmp_path / "a.zip", {**files, "model.safetensors": data}))
        assert "model.safetensors is damaged: its header speaks of" in sentence
    length = int.from_bytes(weights[:8], "little")
    header = json.loads(weights[8 : 8 + length])
    header.popitem()
    text = json.dumps(header).encode()
    data = len(text).to_bytes(8, "little") + text + weights[8 + length :]
    assert "is damaged" in refusal(packed(tmp_path / "b.zip", {**files, "model.safetensors": data}))


def test_a_zip_whose_list_says_it_is_huge_is_not_read(files, tmp_path):
    data = bytearray(packed(tmp_path / "a.zip", files).read_bytes())
    at = data.rfind(b"PK\x05\x06")
    data[at + 12 : at + 16] = struct.pack("<L", 2**31)
    (tmp_path / "b.zip").write_bytes(data)
    assert f"more than {MOST_FILES} files" in refusal(tmp_path / "b.zip")


def test_a_process_of_its_own_finds_the_same_facts_and_sentences(files, tmp_path):
    path = packed(tmp_path / "a.zip", files)
    assert inspect_confined(path, most_unpacked_bytes=ROOM) == inspect(path, most_unpacked_bytes=ROOM)
    path = packed(tmp_path / "b.zip", {name: data for name, data in files.items() if name != "config.json"})
    with pytest.raises(ModelRefusedError, match=r"The zip has no config\.json\."):
        inspect_confined(path, most_unpacked_bytes=ROOM)


def test_a_zip_that_burns_processor_time_is_ended(files, tmp_path):
    """A few hundred kilobytes with headers of many empty tensors."""
    tensor = {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}
    header = json.dumps({f"{number:x}": tensor for number in range(220_000)}, separators=(",", ":")).encode()
    weights = struct.pack("<Q", len(header)) + header
    parts = {f"model-0000{number}-of-00003.safetensors": weights for number in (1, 2, 3)}
    rest = {name: data for name, data in files.items() if not name.endswith(".safetensors")}
    path = packed(tmp_path / "burning.zip", {**rest, **parts})
    assert path.stat().st_size < 5_000_000
    with pytest.raises(ModelRefusedError, match=r"Reading the zip takes more than 1 seconds of processor time\."):
        inspect_confined(path, most_unpacked_bytes=8 * 1024**3, cpu_seconds=1)


def test_files_beside_the_weights_have_a_bound_of_their_own(files, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint_zip, "_MOST_OTHER_BYTES", 1000)
    assert "at most 1000 are possible" in refusal(packed(tmp_path / "a.zip", files))


def test_what_unpacks_to_many_times_its_size_is_refused_before_it_is_unpacked(files, tmp_path):
    path = packed(tmp_path / "a.zip", {**files, "README.md": bytes(100 * 1024 * 1024)})
    assert "weights do not compress like that" in refusal(path, room=8 * 1024**3)


def read(data: bytes):
    length = header_length(data[:LENGTH_BYTES], file_bytes=len(data))
    return read_header(data[LENGTH_BYTES : LENGTH_BYTES + length], file_bytes=len(data))


def made(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def tensor(*, dtype: str = "F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def test_what_the_library_writes_is_read():
    import torch
    from safetensors.torch import save

    tensors = {
        "a": torch.zeros(3, 4), "b": torch.zeros(5, dtype=torch.bfloat16), "c": torch.zeros((), dtype=torch.int64),
        "d": torch.zeros(0, 7), "e": torch.zeros(2, dtype=torch.float8_e4m3fn),
    }  # fmt: skip
    header = read(save(tensors, metadata={"format": "pt"}))
    assert header.shapes == {"a": (3, 4), "b": (5,), "c": (), "d": (0, 7), "e": (2,)}
    assert header.parameters == 12 + 5 + 1 + 0 + 2


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "has 0 bytes"),
        (b"1234567", "has 7 bytes"),
        (struct.pack("<Q", 2**63) + b"{}", "its header has 9223372036854775808 bytes"),
        (struct.pack("<Q", 3) + b"{}", "its header has 3 bytes"),
        (b"\x80\x04\x95" + b"a pickle, say" * 9, "is no safetensors file"),
        (made(b"[]"), "no JSON object"),
        (made(b"{ "), "no JSON object"),
        (made(b"[" * 100_000), "no JSON object"),
        (made({"a": 1}), "has no type, shape and place"),
        (made({"a": tensor(dtype="PICKLE")}, b"x" * 8), "has no type"),
        (made({"a": tensor(shape=(-2,))}, b"x" * 8), "has no type"),
        (made({"a": tensor(shape=(2.0,))}, b"x" * 8), "has no type"),
        (made({"a": tensor(shape=(True, 2))}, b"x" * 8), "has no type"),
        (made({"a": tensor(shape=[1] * 33)}, b"x" * 8), "has no type"),
        (made({"a": tensor(shape=[2**60] * 32)}, b"x" * 8), "does not have the size"),
        (made({"a": tensor(offsets=(0, 8, 16))}, b"x" * 8), "has no type"),
        (made({"a": tensor(shape=(3,))}, b"x" * 8), "does not have the size"),
        (made({"a": tensor(offsets=(8, 0))}, b"x" * 8), "does not have the size"),
        (made({"a": tensor(offsets=(8, 16))}, b"x" * 16), "begins at byte 8, not at 0"),
        (made({"a": tensor(), "b": tensor(offsets=(4, 12))}, b"x" * 12), "begins at byte 4, not at 8"),
        (made({"a": tensor()}, b"x" * 7), "speaks of 8 bytes of data, and there are 7"),
        (made({"a": tensor()}, b"x" * 9), "speaks of 8 bytes of data, and there are 9"),
    ],
)
def test_what_is_none_is_refused(data, complaint):
    with pytest.raises(HeaderError, match=complaint):
        read(data)
