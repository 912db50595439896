"""The tokens of LUMOS's modules: pieces of words and of numbers, and one token for each text that all prompts share.

The instructions and lists of tools that begin prompts are hundreds of words that never change; as single tokens they
cost nothing. Any other list of tools is spelt.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from evaluator.lumos.strategies import templates
from evaluator.training.causal import Exchange
from evaluator.training.export import END, END_ID, PAD, UNKNOWN

PIECES = 2000
_TASK = "Task: "
_COMMON = 20
"""Prompts that must begin alike for their beginning to be a token."""


def lumos_tokenizer(exchanges: Sequence[Exchange]) -> Tokenizer:
    """A tokenizer that is always the same for the same exchanges."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=False), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    fixed = fixed_texts(exchanges)
    trainer = trainers.BpeTrainer(
        vocab_size=PIECES, min_frequency=3, special_tokens=[PAD, END, UNKNOWN],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
    )  # fmt: skip
    tokenizer.train_from_iterator(_texts(exchanges, fixed=fixed), trainer)
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in fixed])
    tokenizer.post_processor = processors.TemplateProcessing(single=f"$A {END}", special_tokens=[(END, END_ID)])
    return tokenizer


def fixed_texts(exchanges: Iterable[Exchange]) -> list[str]:
    """The texts that prompts share: how they begin, and what stands between turns; longest first."""
    beginnings = Counter(one.prompt.partition(_TASK)[0] + _TASK for one in exchanges)
    found = [text for text, count in beginnings.items() if count >= _COMMON]
    between = [
        f"; Initial Environment Description: None.{templates.ASSISTANT}",
        f" Should we stop planning?{templates.ASSISTANT}",
        "\n" + templates.USER, templates.ASSISTANT, templates.KEEP, templates.STOP, "The executed result for Subgoal ",
        " The grounding could be based on the following results: ", "The execution result for Subgoal ",
        "Subgoal to be grounded: ", "Subgoals to be grounded: ",
    ]  # fmt: skip
    return sorted({*found, *between}, key=lambda text: (-len(text), text))


def _texts(exchanges: Sequence[Exchange], *, fixed: Sequence[str]) -> Iterable[str]:
    for one in exchanges:
        yield _without(one.prompt[-1000:], fixed=fixed)
        yield one.reply


def _without(text: str, *, fixed: Sequence[str]) -> str:
    for part in fixed:
        text = text.replace(part, " ")
    return text
