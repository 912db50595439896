"""What a zip costs to read is bounded, whatever is in it."""

import io
import json
import struct
import zipfile

import pytest

from evaluator.planners.language_models.admission import checkpoint_zip
from evaluator.planners.language_models.admission.checkpoint_inspection import inspect_confined
from evaluator.planners.language_models.admission.rules import ModelRefusedError
from tests.fakes.checkpoints import tiny_files, zipped

ROOM = 8 * 1024**3


def written(path, data):
    path.write_bytes(data)
    return path


def refusal(path, **options):
    with pytest.raises(ModelRefusedError) as refused:
        inspect_confined(path, most_unpacked_bytes=ROOM, **options)
    return str(refused.value)


def test_a_good_zip_has_the_same_facts_as_without_a_process_of_its_own(tmp_path):
    path = written(tmp_path / "a.zip", zipped())
    assert inspect_confined(path, most_unpacked_bytes=ROOM) == checkpoint_zip.inspect(path, most_unpacked_bytes=ROOM)


def test_a_refusal_is_the_sentence_of_the_check(tmp_path):
    assert refusal(written(tmp_path / "a.zip", zipped(config__json=None))) == "The zip has no config.json."


def test_a_zip_that_burns_processor_time_is_ended(tmp_path):
    """A few hundred kilobytes with headers of many empty tensors."""
    tensor = {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}
    header = json.dumps({f"{number:x}": tensor for number in range(220_000)}, separators=(",", ":")).encode()
    weights = struct.pack("<Q", len(header)) + header
    parts = [f"model-0000{number}-of-00003.safetensors" for number in (1, 2, 3)]
    path = tmp_path / "burning.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in tiny_files().items():
            if not name.endswith(".safetensors"):
                archive.writestr(name, data)
        for part in parts:
            archive.writestr(part, weights)
    assert path.stat().st_size < 5_000_000
    assert refusal(path, cpu_seconds=1) == "Reading the zip takes more than 1 seconds of processor time."


def test_files_beside_the_weights_have_a_bound_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint_zip, "_MOST_OTHER_BYTES", 1000)
    path = written(tmp_path / "a.zip", zipped())
    with pytest.raises(ModelRefusedError, match="at most 1000 are possible"):
        checkpoint_zip.inspect(path, most_unpacked_bytes=ROOM)


def test_what_unpacks_to_many_times_its_size_is_refused_before_it_is_unpacked(tmp_path):
    buffer = io.BytesIO(zipped())
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("README.md", "w") as file:
        for _ in range(100):
            file.write(bytes(1024 * 1024))
    assert "weights do not compress like that" in refusal(written(tmp_path / "a.zip", buffer.getvalue()))
