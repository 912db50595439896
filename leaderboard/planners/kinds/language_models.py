"""The shared parts of kinds that combine a strategy with a language model."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

from django import forms

from evaluator.core.language_model import Ability
from evaluator.planners.strategies.registry import StrategyEntry, strategies
from leaderboard.planners.data import Errors
from leaderboard.planners.gpu_memory import workers_memory_bytes
from leaderboard.platform.fields import Choice, Members, Text

MEMORY_FACTOR = 1.3
"""GPU memory that a model needs while it answers, as a multiple of its weights as they are stored: the weights, and the
keys, values and activations of a batch of prompts. Models stored in 32 bits are loaded in 16 and need less."""
_GIGABYTE = 1024**3
_CHAT_ENDPOINT = frozenset({Ability.GENERATE, Ability.CALL_TOOLS})
"""Abilities of `ChatModel`, whose module loads a client of HTTP."""


@cache
def model_strategies() -> Mapping[str, StrategyEntry]:
    """The strategies that a language model can be submitted with, by name, those for all suites first."""
    found = {name: entry for name, entry in strategies().items() if entry.needs or entry.optional}
    return MappingProxyType(dict(sorted(found.items(), key=lambda item: (bool(item[1].suites), item[0]))))


@cache
def chat_strategies() -> Mapping[str, StrategyEntry]:
    """The strategies for a chat endpoint, which returns texts and calls of tools, but no probabilities."""
    return _strategies_for(_CHAT_ENDPOINT)


@cache
def worker_strategies() -> Mapping[str, StrategyEntry]:
    """The strategies for a model that a worker loads, which has no service that takes definitions of tools."""
    return _strategies_for(frozenset(Ability) - {Ability.CALL_TOOLS})


def _strategies_for(abilities: frozenset[Ability]) -> Mapping[str, StrategyEntry]:
    entries = model_strategies().items()
    return MappingProxyType({name: entry for name, entry in entries if entry.needs | entry.optional <= abilities})


def _label(name: str) -> str:
    entry = model_strategies()[name]
    suites = ("suites in turns",) if entry.in_turns else entry.suites
    of_suites = f", for {', '.join(suites)} only" if suites else ""
    return f"{name}{of_suites}"


MODEL_ID = Text(
    "model_id",
    label="Model",
    noun="model",
    help="For Hugging Face, ORG/NAME of a public model with safetensors. For a chat endpoint, the model name in "
    "requests; visible to everyone who sees the planner.",
    example="org/name",
    longest=200,
    attributes={"placeholder": "org/name", "autocapitalize": "none", "spellcheck": "false"},
)
STRATEGY = Choice(
    "strategy",
    label="Strategy",
    noun="strategy",
    help="Prompts the language model and builds a plan from its answers: "
    f"{', '.join(worker_strategies())}. With a chat endpoint: {', '.join(chat_strategies())}.",
    page_help="Turns the model's answers into a plan.",
    example="hugginggpt",
    choices=[(name, _label(name)) for name in model_strategies()],
)


OPTIONS = Members(
    "options",
    label="Options",
    noun="options",
    help="Values of the strategy's options that are not the default, by name. They may also follow the strategy's "
    "name, as in controlllm/adaptive@2.5.",
    example={"threshold": 2.5},
    is_kept=False,
)
ROLES = Members(
    "roles",
    label="Models of roles",
    noun="choice of models",
    help="Language models of the strategy's roles that do not use the planner's, by role: objects with the kind of the "
    "model, and the fields of that kind.",
    example={"decompose": {"kind": "hub", "model_id": "org/decomposer"}},
)


def strategy_named(name: str) -> StrategyEntry | None:
    """The strategy of a name that may have options; None: it takes no language model here."""
    return model_strategies().get(name.partition("@")[0])


def offer(strategies: Iterable[str], *, fields: Mapping[str, forms.Field]) -> None:
    """Offer only these strategies in a form."""
    offered = frozenset(strategies)
    widget: Any = fields[STRATEGY.name].widget
    widget.choices = [(name, label) for name, label in STRATEGY.choices if name in offered]


def check_chat_strategy(name: str) -> Errors:
    """Errors in the name of the strategy of a chat endpoint."""
    lacking = "needs the probabilities of tokens, which a chat endpoint does not provide"
    return _check(name, offered=chat_strategies(), lacking=lacking)


def check_worker_strategy(name: str) -> Errors:
    """Errors in the name of the strategy of a model that a worker loads."""
    lacking = "needs a service that takes definitions of tools, such as a chat endpoint"
    return _check(name, offered=worker_strategies(), lacking=lacking)


def _check(name: str, *, offered: Mapping[str, StrategyEntry], lacking: str) -> Errors:
    name = name.partition("@")[0]
    if name in offered:
        return {}
    names = ", ".join(offered)
    if name in model_strategies():
        return {STRATEGY.name: [f"{name} {lacking}: choose one of {names}."]}
    if name in strategies():
        return {STRATEGY.name: [f"{name} works without a language model: submit it as a bundled planner."]}
    return {STRATEGY.name: [f"Choose one of {names}."]}


def check_understanding(*, strategy: str, suites: Sequence[str]) -> Errors:
    """Errors if the strategy does not support the suites with these slugs."""
    entry = strategy_named(strategy)
    foreign = [slug for slug in suites if entry is not None and not entry.understands(slug)]
    if entry is None or not foreign:
        return {}
    made_for = ", ".join(entry.suites)
    return {"suites": [f"{entry.name} does not support requests of {foreign[0]}; it is made for {made_for}."]}


def too_large(*, what: str, weights_bytes: int) -> str:
    """Why a model does not fit into the workers' GPU, as a sentence; empty if it does."""
    needed, there = weights_bytes * MEMORY_FACTOR, workers_memory_bytes()
    if needed <= there:
        return ""
    return (
        f"{what} is too large: its weights have {weights_bytes / _GIGABYTE:.1f} GB, so that it needs about "
        f"{needed / _GIGABYTE:.1f} GB of GPU memory, and the workers here have {there / _GIGABYTE:.3g} GB."
    )
