"""Trains the scorer: draws lessons with scores, and trains a network from random weights.

A lesson is a subtask of the corpus with a tool or a solution. The score of a tool is 5 if it is in the preferred chain
of the subtask's kind, 4 if it is in another chain, 3 if a tool of a chain takes its output, 2 if only its types fit (it
makes a returned type, or takes only types of the arguments), else 1. The score of a solution is 5 if it is the
preferred chain, 4 if it is another one, 3 if it is a chain with additional tools, 2 if it lacks one tool of a chain or
has its last tool, else 1.

Four in five subtasks have their descriptions, the others the text of a request with no other subtask.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from torch import Tensor, nn
from transformers import BertConfig, BertForSequenceClassification

from evaluator.controlllm.strategies.planning import Toolbox, usable_tools
from evaluator.controlllm.strategies.search import Chain, exhaustive, search, tools_in_domains
from evaluator.controlllm.strategies.subtasks import Resource, TypedSubtask, typed_subtasks
from evaluator.controlllm.strategies.trained.kinds import KINDS, Kind
from evaluator.controlllm.strategies.trained.linear import written
from evaluator.controlllm.strategies.trained.networks import LONGEST, SPECIAL, solution_text, token_ids, tool_text
from evaluator.controlllm.training.decomposer import distinct_pairs, padded
from evaluator.controlllm.training.drafting import Pair
from evaluator.controlllm.training.wording import Item, pick
from evaluator.core.canonical_json import JsonValue
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.core.tools.types import ResourceType, Tool
from evaluator.replies.decomposition import parse_decomposition
from evaluator.training.export import checkpoint_of, export_transformers, write_record
from evaluator.training.loop import Progress, Schedule, fit, reached_step
from evaluator.training.runs import begin, begin_run

_BY_REQUEST = 0.2
_SOLUTIONS = 0.4
"""Share of lessons about solutions."""
_RIGHT = 0.4
"""Share of lessons with a score of 4 or 5, if possible."""
_MOST_PATHS = 400
_TOOLBOX = Toolbox.of(tuple(CONTROLLLM.tools.values()))


def by_kind(pairs: Sequence[Pair]) -> dict[str, list[tuple[Pair, int]]]:
    """The subtasks of pairs by kind, each as a pair and an index."""
    subtasks: dict[str, list[tuple[Pair, int]]] = {}
    for pair in pairs:
        for place, subtask in enumerate(pair.subtasks):
            subtasks.setdefault(subtask.kind, []).append((pair, place))
    return subtasks


def draw_lesson(
    *, subtasks: Mapping[str, Sequence[tuple[Pair, int]]], rng: np.random.Generator
) -> tuple[list[str], int]:
    """An input of the scorer with its score. All kinds of subtasks are equally likely.

    Args:
        subtasks: the result of `by_kind`.
        rng: source of all random choices.
    """
    name = pick(rng, sorted(subtasks))
    pair, place = pick(rng, subtasks[name])
    subtask = _subtask(pair=pair, place=place, by_request=bool(rng.random() < _BY_REQUEST))
    if rng.random() < _SOLUTIONS:
        path, score = _drawn(scored_paths(name), rng=rng)
        return solution_text(subtask=subtask, path=path), score
    tool, score = _drawn(scored_tools(name), rng=rng)
    return tool_text(subtask=subtask, tool=tool), score


def _drawn(scored: Sequence[tuple[Item, int]], *, rng: np.random.Generator) -> tuple[Item, int]:
    right = [(item, score) for item, score in scored if score >= 4]
    return pick(rng, right if right and rng.random() < _RIGHT else scored)


def _subtask(*, pair: Pair, place: int, by_request: bool) -> TypedSubtask:
    subtasks = typed_subtasks(parse_decomposition(written(subtasks=pair.subtasks, reading=pair.reading)))
    # A mask or boxes that the second subtask takes are a step towards its result.
    has_one_result = len(pair.subtasks) == 1 or (
        len(pair.subtasks) == 2 and pair.subtasks[0].kind in {"mask", "find-boxes"} and 1 in pair.subtasks[1].arguments
    )
    if by_request and has_one_result:
        return replace(subtasks[place], description=pair.reading.request)
    return subtasks[place]


@cache
def scored_tools(name: str) -> tuple[tuple[Tool, int], ...]:
    """The usable tools of a kind of subtask, with their scores."""
    kind = KINDS[name]
    chains = [chain.split() for chain in kind.chains]
    return tuple(
        (tool, _score_of_tool(tool, kind=kind, chains=chains))
        for tool in usable_tools(subtask=_bare(kind), toolbox=_TOOLBOX)
    )


def _score_of_tool(tool: Tool, *, kind: Kind, chains: Sequence[Sequence[str]]) -> int:
    if tool.name in chains[0]:
        return 5
    if any(tool.name in chain for chain in chains):
        return 4
    taken = {wanted for chain in chains for name in chain for wanted in CONTROLLLM[name].input_types}
    if set(tool.output_types) & (taken - set(kind.takes) - {ResourceType.TEXT}):
        return 3
    return 2 if kind.gives in tool.output_types or set(tool.input_types) <= set(kind.takes) else 1


@cache
def scored_paths(name: str) -> tuple[tuple[Chain, int], ...]:
    """The 400 shortest solutions of an exhaustive search for a kind, with their scores."""
    kind = KINDS[name]
    result = search(
        tools=tools_in_domains(tools=_TOOLBOX.tools, domains=kind.domains), args=kind.takes, returns=(kind.gives,),
        choose=exhaustive, scores={},
    )  # fmt: skip
    paths = sorted(result.paths, key=len)[:_MOST_PATHS]
    chains = [chain.split() for chain in kind.chains]
    return tuple((path, _score_of_path([tool.name for tool in path], chains=chains)) for path in paths)


def _score_of_path(path: list[str], *, chains: Sequence[list[str]]) -> int:
    if path in chains:
        return 5 if path == chains[0] else 4
    if any(_follows(chain, path) for chain in chains):
        return 3
    near = any(path[-1] == chain[-1] or len(set(chain) - set(path)) == 1 < len(chain) for chain in chains)
    return 2 if near else 1


def _follows(chain: Sequence[str], path: Sequence[str]) -> bool:
    """Whether a path has the tools of a chain in its order."""
    rest = iter(path)
    return all(name in rest for name in chain)


def _bare(kind: Kind) -> TypedSubtask:
    """A subtask with the types of a kind."""
    args = tuple(Resource(type=taken, value="") for taken in kind.takes)
    returns = (Resource(type=kind.gives, value="<GENERATED>-0"),)
    return TypedSubtask(id=0, description="", domains=kind.domains, args=args, returns=returns)


STEPS = 900
LEARNING_RATE = 1e-3
PAIRS = 8_000
_PIECES = 2400
_TOKENIZER_READS = 6_000
_TOKENIZER_STREAM = 43


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerOrder:
    """Settings of a training run."""

    out: Path
    steps: int = STEPS
    seed: int = 0
    size: int = PAIRS
    """Number of pairs of the corpus."""
    width: int = 192
    layers: int = 3
    resume: bool = False
    stop_after: int | None = None


@dataclass(frozen=True, slots=True)
class ScoringObjective:
    """Mean cross-entropy over the five scores of the lessons in a batch."""

    subtasks: Mapping[str, Sequence[tuple[Pair, int]]]
    """By kind."""
    tokenizer: Tokenizer
    batch: int = 48

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        """The loss on one batch, a scalar."""
        lessons = [draw_lesson(subtasks=self.subtasks, rng=rng) for _ in range(self.batch)]
        ids = padded([token_ids(text, tokenizer=self.tokenizer) for text, _ in lessons], value=0)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(input_ids=ids, attention_mask=(ids != 0).long()).logits
        return F.cross_entropy(logits.float(), torch.tensor([score - 1 for _, score in lessons]))


def train_scorer(order: ScorerOrder, *, report: Callable[[Progress], None] | None = None) -> Path | None:
    """Train the scorer and return its folder, or None if it stopped early.

    The checkpoint is next to the folder.

    Raises:
        SettingsError: the checkpoint is of another run.
    """
    checkpoint = checkpoint_of(order.out)
    begin(checkpoint=checkpoint, settings=_scorer_settings(order), resume=order.resume)
    runs = begin_run(
        path=checkpoint.with_name(f"{checkpoint.name}.runs.json"),
        steps=order.steps,
        reached=reached_step(checkpoint) if order.resume else 0,
    )
    subtasks = by_kind(list(distinct_pairs(size=order.size)))
    tokenizer = scorer_tokenizer(subtasks)
    model = new_scorer(tokenizer=tokenizer, order=order)
    reached = fit(
        model=model,
        objective=ScoringObjective(subtasks, tokenizer),
        schedule=Schedule(steps=order.steps, learning_rate=LEARNING_RATE, seed=order.seed, checkpoint_every=50),
        checkpoint=checkpoint,
        resume=order.resume,
        stop_after=order.stop_after,
        report=report,
    )
    if reached < order.steps:
        return None
    export_transformers(model.eval(), order.out)
    tokenizer.save(str(order.out / "tokenizer.json"), pretty=False)
    written: list[JsonValue] = [asdict(run) for run in runs]
    write_record(folder=order.out, record={**_scorer_settings(order), "runs": written})
    return order.out


def scorer_tokenizer(subtasks: Mapping[str, Sequence[tuple[Pair, int]]]) -> Tokenizer:
    """A tokenizer of single words, trained on inputs of the scorer; every byte is a piece."""
    rng = np.random.default_rng(_TOKENIZER_STREAM)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=len(SPECIAL) + _PIECES,
        min_frequency=2,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    words = (word for _ in range(_TOKENIZER_READS) for word in draw_lesson(subtasks=subtasks, rng=rng)[0])
    tokenizer.train_from_iterator((word for word in words if word not in SPECIAL), trainer)
    return tokenizer


def new_scorer(*, tokenizer: Tokenizer, order: ScorerOrder) -> BertForSequenceClassification:
    """A BERT with random weights: 1.8 million parameters in the default shape."""
    torch.manual_seed(order.seed)
    return BertForSequenceClassification(
        BertConfig(
            vocab_size=tokenizer.get_vocab_size(),
            hidden_size=order.width,
            num_hidden_layers=order.layers,
            num_attention_heads=4,
            intermediate_size=4 * order.width,
            max_position_embeddings=LONGEST,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            num_labels=5,
            pad_token_id=0,
        )
    )


def _scorer_settings(order: ScorerOrder) -> dict[str, JsonValue]:
    return {
        "kind": "scorer",
        "seed": order.seed,
        "pairs": order.size,
        "shape": [order.width, order.layers],
        "learning_rate": LEARNING_RATE,
        "torch": torch.__version__,
    }
