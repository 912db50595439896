"""The header of a safetensors file, as the library writes it and as nobody should."""

import json
import struct

import pytest

from evaluator.planners.language_models.admission.safetensors_headers import (
    LENGTH_BYTES,
    HeaderError,
    header_length,
    read_header,
)


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
