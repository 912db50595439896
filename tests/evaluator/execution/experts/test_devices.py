"""The class of a device: what the bytes that it computes depend on."""

import ast
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from operator import attrgetter
from pathlib import Path
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
    devices.driver_version.cache_clear()


@pytest.mark.parametrize(
    ("cpuinfo", "vendor", "vectors"),
    [(INTEL, "GenuineIntel", "amx_tile avx avx2 avx512f f16c fma"), (ARM, "0x41", "asimd bf16 sve"), ("", "", "")],
)
def test_processors_differ_by_vendor_and_vector_instructions(monkeypatch, tmp_path, cpuinfo, vendor, vectors):
    (tmp_path / "cpuinfo").write_text(cpuinfo)
    monkeypatch.setattr(devices, "_CPUINFO", tmp_path / "cpuinfo")
    devices.device_class.cache_clear()
    facts = devices.device_class("cpu")
    assert (facts["kind"], facts["vendor"], facts["vectors"]) == ("cpu", vendor, vectors)
    assert facts["torch"] == metadata.version("torch")


def cuda(card, *, cudnn=91000, built=("sm_80", "sm_90", "compute_90"), capability=(9, 0)):
    """A torch with a card, and the flags as torch has them by default."""
    return SimpleNamespace(
        cuda=SimpleNamespace(
            get_device_capability=lambda device: capability,
            get_device_name=lambda device: card,
            get_arch_list=lambda: list(built),
        ),
        version=SimpleNamespace(cuda="13.0"),
        backends=SimpleNamespace(
            cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=False)),
            cudnn=SimpleNamespace(version=lambda: cudnn, allow_tf32=True, benchmark=False, deterministic=False),
        ),
    )


def test_cards_and_libraries_make_classes_and_numbers_of_devices_do_not(monkeypatch):
    def class_of(device, torch):
        devices.device_class.cache_clear()
        monkeypatch.setitem(sys.modules, "torch", torch)
        return dict(devices.device_class(device))

    first = class_of("cuda:0", cuda("H100"))
    assert first == class_of("cuda:1", cuda("H100"))
    assert first["capability"] == "9.0"
    assert (first["tf32"], first["cudnn_benchmark"], first["cudnn_deterministic"]) == ("off", "off", "on")
    others = [class_of("cuda", cuda("A100")), class_of("cuda", cuda("H100", cudnn=90000)), class_of("cpu", None)]
    assert first not in others


def driver(version, *, code=0):
    """NVML of a driver; `code` is what its initialisation returns."""

    def write(buffer, size):
        buffer.value = version.encode()[:size]

    return SimpleNamespace(nvmlInit_v2=lambda: code, nvmlSystemGetDriverVersion=write, nvmlShutdown=lambda: 0)


@pytest.mark.parametrize(
    ("built", "capability", "named"),
    [
        (("sm_80", "sm_90", "compute_90"), (9, 0), None),
        (("sm_80", "compute_80"), (8, 9), None),
        (("sm_90a",), (9, 0), None),
        (("sm_86", "compute_86"), (8, 0), "570.86.15"),
        (("sm_80", "sm_90", "compute_90"), (12, 0), "570.86.15"),
        (("sm_100", "sm_120"), (12, 0), None),
    ],
)  # fmt: skip
def test_the_driver_makes_classes_only_where_it_compiles_the_kernels(monkeypatch, built, capability, named):
    monkeypatch.setitem(sys.modules, "torch", cuda("card", built=built, capability=capability))
    monkeypatch.setattr(devices, "_driver_library", lambda: driver("570.86.15"))
    of_class = devices.device_class("cuda")
    assert of_class.get("driver") == named
    # Provenance names it in any case.
    assert devices.device_facts("cuda", of_class=of_class)["driver"] == "570.86.15"


def no_library():
    raise OSError("libnvidia-ml.so.1: cannot open shared object file")


@pytest.mark.parametrize("library", [lambda: driver("570", code=9), SimpleNamespace, no_library])
def test_a_driver_that_cannot_be_asked_is_left_out(monkeypatch, library):
    monkeypatch.setattr(devices, "_driver_library", library)
    assert devices.device_facts("cuda", of_class={"kind": "cuda"}) == {"device_class": {"kind": "cuda"}}
    assert devices.driver_version("cpu") == ""


def test_a_step_of_another_class_of_devices_has_another_key(tmp_path):
    spec = ExpertSpec(tool="t", id="t", implementation="t", path=tmp_path, weights_digest="0")
    keys = {
        step_key(spec=spec, inputs={}, batch_size=1, device=device)
        for device in ({"kind": "cpu"}, {"kind": "cuda", "card": "H100"}, {"kind": "cuda", "card": "A100"})
    }
    assert len(keys) == 3


ROOT = Path(__file__).resolve().parents[4]
WITHOUT_NETWORK = ("FeatureExtractor", "Tokenizer", "Processor", "ProcessorPil", "Config")
"""Endings of classes whose `from_pretrained` makes no network."""


def test_tied_models_load_in_several_threads_and_afterwards(tmp_path):
    from transformers import PreTrainedModel, T5ForConditionalGeneration

    from evaluator.execution.experts.pretrained import load_pretrained
    from tests.evaluator.execution.experts.released import t5

    t5(tmp_path)
    library = PreTrainedModel.tie_weights

    def load(_):
        return load_pretrained(T5ForConditionalGeneration, folder=tmp_path, device="cpu")

    with ThreadPoolExecutor(4) as threads:
        models = [*threads.map(load, range(12)), load(0)]
    assert PreTrainedModel.tie_weights is library
    assert all(model.shared.weight is model.encoder.embed_tokens.weight for model in models)


@pytest.mark.parametrize("flag", ["tf32", "cudnn_benchmark", "cudnn_deterministic"])
def test_other_flags_are_another_class_of_devices(monkeypatch, flag):
    monkeypatch.setitem(sys.modules, "torch", cuda("H100"))
    fixed = dict(devices.device_class("cuda"))
    devices.device_class.cache_clear()
    other = cuda("H100")
    monkeypatch.setitem(sys.modules, "torch", other)
    monkeypatch.setattr(devices, "_fix_precision", lambda torch: None)
    other.backends.cudnn.allow_tf32 = flag == "tf32"
    other.backends.cudnn.benchmark = flag == "cudnn_benchmark"
    other.backends.cudnn.deterministic = flag != "cudnn_deterministic"
    found = dict(devices.device_class("cuda"))
    assert {name for name in fixed if fixed[name] != found[name]} == {flag}


FLAGS = (("cuda.matmul", "allow_tf32"), ("cudnn", "allow_tf32"), ("cudnn", "benchmark"), ("cudnn", "deterministic"))


def test_networks_compute_in_their_precision_and_repeatably_after_a_load():
    import torch

    flags = [(attrgetter(owner)(torch.backends), name) for owner, name in FLAGS]
    before = [getattr(owner, name) for owner, name in flags]
    try:
        with devices.loading():
            for owner, name in flags:
                setattr(owner, name, name != "deterministic")
        assert [getattr(owner, name) for owner, name in flags] == [False, False, False, True]
    finally:
        for (owner, name), value in zip(flags, before, strict=True):
            setattr(owner, name, value)


@pytest.mark.parametrize(("device", "fused"), [("cpu", True), ("cuda:0", False)])
def test_repeatable_attention_uses_no_fused_kernel_on_a_card(device, fused):
    import torch

    with devices.repeatable_attention(device):
        assert torch.backends.cuda.mem_efficient_sdp_enabled() is fused
        assert torch.backends.cuda.math_sdp_enabled()
    assert torch.backends.cuda.mem_efficient_sdp_enabled()


def test_two_loads_never_overlap():
    inside, most = [], []

    def load(number):
        with devices.loading():
            inside.append(number)
            most.append(len(inside))
            time.sleep(0.01)
            inside.remove(number)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(load, range(8)))
    assert most == [1] * 8


def test_every_network_is_loaded_within_the_lock():
    modules = {
        path: ast.parse(path.read_text(encoding="utf-8"))
        for package in ("evaluator", "gpu_jobs", "leaderboard")
        for path in sorted((ROOT / package).rglob("*.py"))
        if "from_pretrained" in path.read_text(encoding="utf-8")
    }
    calls = {path: sum(map(makes_network, ast.walk(tree))) for path, tree in modules.items()}
    locked = {path: sum(makes_network(node) for node in within_lock(tree)) for path, tree in modules.items()}
    assert sum(locked.values()) >= 4
    assert [path for path in modules if calls[path] != locked[path]] == []


def makes_network(node: ast.AST) -> bool:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    return node.func.attr == "from_pretrained" and not receiver(node.func).lower().endswith(
        tuple(name.lower() for name in (*WITHOUT_NETWORK, "processor_class"))
    )


def receiver(attribute: ast.Attribute) -> str:
    return ast.unparse(attribute.value)


def within_lock(tree: ast.AST) -> list[ast.AST]:
    return [
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.With) and any(ast.unparse(item.context_expr) == "loading()" for item in node.items)
        for statement in node.body
        for inner in ast.walk(statement)
    ]
