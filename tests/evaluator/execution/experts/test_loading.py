"""Loading networks in several threads, and the precision in which they compute afterwards."""

import ast
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
WITHOUT_NETWORK = ("Tokenizer", "Processor", "ProcessorPil")
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


def test_float32_networks_compute_without_tf32():
    import torch

    from evaluator.execution.experts.devices import loading

    flags = [(torch.backends.cuda.matmul, "allow_tf32"), (torch.backends.cudnn, "allow_tf32")]
    before = [getattr(owner, name) for owner, name in flags]
    try:
        for owner, name in flags:
            setattr(owner, name, True)
        with loading():
            pass
        assert [getattr(owner, name) for owner, name in flags] == [False, False]
    finally:
        for (owner, name), value in zip(flags, before, strict=True):
            setattr(owner, name, value)


def test_every_network_is_loaded_within_the_lock():
    modules = {
        path: ast.parse(path.read_text(encoding="utf-8"))
        for package in ("evaluator", "gpu_jobs", "leaderboard")
        for path in sorted((ROOT / package).rglob("*.py"))
        if "from_pretrained" in path.read_text(encoding="utf-8")
    }
    calls = {path: sum(map(makes_network, ast.walk(tree))) for path, tree in modules.items()}
    locked = {path: sum(makes_network(node) for node in within_lock(tree)) for path, tree in modules.items()}
    assert sum(locked.values()) >= 5
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
