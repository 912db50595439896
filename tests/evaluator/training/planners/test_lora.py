import sys

import pytest
import torch
from safetensors.torch import load_file
from transformers import BertConfig, BertModel

from evaluator.training.export import export_transformers
from evaluator.training.planners.finetuning import FineTuning, fine_tune
from evaluator.training.planners.lora import LoraError, LoraSettings, adapt
from evaluator.training.planners.model import write_tokenizer
from evaluator.training.planners.tokens import planner_tokenizer
from tests.evaluator.training.planners.models import SUITE, tiny_module

pytestmark = pytest.mark.full


def test_a_tuned_model_is_written_as_a_plain_one(tmp_path):
    folder = tmp_path / "tiny"
    export_transformers(tiny_module().eval(), folder)
    write_tokenizer(tokenizer=planner_tokenizer(), folder=folder)
    out = fine_tune(
        FineTuning(
            model=folder, out=tmp_path / "out", suite=SUITE, tasks=("4",), steps=3, learning_rate=0.05,
            lora=LoraSettings(rank=2, alpha=4),
        )
    )  # fmt: skip
    before, after = load_file(folder / "model.safetensors"), load_file(out / "model.safetensors")
    assert before.keys() == after.keys()
    changed = {name for name, value in before.items() if not torch.equal(value, after[name])}
    assert changed
    assert all(name.endswith((".q.weight", ".v.weight")) for name in changed)


def test_a_model_without_such_layers_is_refused_with_a_sentence():
    other = BertModel(
        BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8, vocab_size=10)
    )
    with pytest.raises(LoraError, match="The model cannot be adapted"):
        adapt(other, settings=LoraSettings())


def test_without_peft_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(LoraError, match=r"pip install -c constraints\.txt peft"):
        adapt(tiny_module(), settings=LoraSettings())
