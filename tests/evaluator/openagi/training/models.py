"""Planners that are small enough to be trained in a test, and requests for them."""

import torch
from transformers import T5Config, T5ForConditionalGeneration

from evaluator.core.planner import request_for
from evaluator.core.suites.registry import suite_of
from evaluator.openagi.training.pretraining import planner_tokenizer
from evaluator.planners.language_models.local.model import LocalModel
from evaluator.planners.language_models.local.network import Network
from evaluator.training.export import END_ID, PAD_ID, fast_tokenizer

SUITE = suite_of("openagi")


def tiny_module(*, seed=0):
    torch.manual_seed(seed)
    return T5ForConditionalGeneration(
        T5Config(
            vocab_size=planner_tokenizer().get_vocab_size(), d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2,
            dropout_rate=0.0, pad_token_id=PAD_ID, eos_token_id=END_ID, decoder_start_token_id=PAD_ID,
        )
    )  # fmt: skip


def tiny_model(*, seed=0):
    network = Network(module=tiny_module(seed=seed), tokenizer=fast_tokenizer(planner_tokenizer()))
    return LocalModel(network=network, name="tiny")


def request(key, *, tools=None):
    task = SUITE.task(key)
    offered = frozenset(tools or SUITE.catalogue.tools)
    return request_for(suite=SUITE, task=task, context=SUITE.context(task=task, offered=offered))


class ToyRewards:
    """Scores plans by a function of the test's, as if they had been executed."""

    def __init__(self, score):
        self.score = score
        self.asked = []

    def of(self, proposals):
        self.asked += proposals
        return [self.score(task, plan) for task, plan in proposals]
