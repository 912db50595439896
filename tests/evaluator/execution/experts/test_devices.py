"""The class of a device: what the bytes that it computes depend on."""

import sys
from importlib import metadata
from types import SimpleNamespace

import pytest

from evaluator.core.expert import ExpertSpec
from evaluator.execution.engine.jobs import step_key
from evaluator.execution.experts import devices

INTEL = """processor\t: 0
vendor_id\t: GenuineIntel
flags\t\t: fpu sse2 avx fma f16c avx2 avx512f amx_tile

processor\t: 1
vendor_id\t: Another
flags\t\t: avx
"""
ARM = """processor\t: 0
Features\t: fp asimd sve bf16 crc32
CPU implementer\t: 0x41
"""


@pytest.fixture(autouse=True)
def forget():
    yield
    devices.device_class.cache_clear()


@pytest.mark.parametrize(
    ("cpuinfo", "vendor", "vectors"),
    [(INTEL, "GenuineIntel", "amx_tile avx avx2 avx512f f16c fma"), (ARM, "0x41", "asimd bf16 sve"), ("", "", "")],
)
def test_processors_differ_by_vendor_and_vector_instructions(monkeypatch, cpuinfo, vendor, vectors):
    monkeypatch.setattr(devices, "_cpuinfo", lambda: cpuinfo)
    devices.device_class.cache_clear()
    facts = devices.device_class("cpu")
    assert (facts["kind"], facts["vendor"], facts["vectors"]) == ("cpu", vendor, vectors)
    assert facts["torch"] == metadata.version("torch")


def cuda(card, *, cudnn=91000):
    return SimpleNamespace(
        cuda=SimpleNamespace(get_device_capability=lambda device: (9, 0), get_device_name=lambda device: card),
        version=SimpleNamespace(cuda="13.0"),
        backends=SimpleNamespace(cudnn=SimpleNamespace(version=lambda: cudnn)),
    )


def test_cards_and_libraries_make_classes_and_numbers_of_devices_do_not(monkeypatch):
    def class_of(device, torch):
        devices.device_class.cache_clear()
        monkeypatch.setitem(sys.modules, "torch", torch)
        return dict(devices.device_class(device))

    first = class_of("cuda:0", cuda("H100"))
    assert first == class_of("cuda:1", cuda("H100"))
    assert first["capability"] == "9.0"
    others = [class_of("cuda", cuda("A100")), class_of("cuda", cuda("H100", cudnn=90000)), class_of("cpu", None)]
    assert first not in others


def test_a_step_of_another_class_of_devices_has_another_key(tmp_path):
    spec = ExpertSpec(tool="t", id="t", implementation="t", path=tmp_path, weights_digest="0")
    keys = {
        step_key(spec=spec, inputs={}, batch_size=1, device=device)
        for device in ({"kind": "cpu"}, {"kind": "cuda", "card": "H100"}, {"kind": "cuda", "card": "A100"})
    }
    assert len(keys) == 3
