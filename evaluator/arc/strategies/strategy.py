"""The multi-expert system for ARC (Tan & Motani 2023, section 3) and its single agents, as strategies.

Options set the agents, the number of samples and the style of prompts:
`arc-experts@views=objects,pixels;samples=1:MODEL`, `arc-single:objects;style=compact:MODEL`.
"""

import hashlib
import random
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from evaluator.arc.grids import Demonstration, grid_of
from evaluator.arc.strategies.agents import AGENT_NAMES, AGENTS, Agent, agent_named, agents_named
from evaluator.arc.strategies.sampling import Sample, Trials
from evaluator.arc.strategies.styles import PAPER, STYLES, Style
from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Ability, Answer, Call, Completion, GenerateCall, PromptLimit
from evaluator.core.planner import PlannerRequest
from evaluator.core.strategy import Conversation, Draft
from evaluator.core.strategy_options import ChoiceOption, NamesOption, NumberOption, Option, OptionValue, WholeOption
from evaluator.core.strategy_options import Options as StrategyOptions

_HOTTEST = 2.0
MOST_CONTEXT = 1_000_000
"""Largest limit of a prompt, in tokens."""
_COUNTED = agent_named("objects")
"""The agent whose first prompt decides whether a task is attempted, as in the paper."""
_COMMON: tuple[Option, ...] = (
    WholeOption(
        name="samples", label="Samples", default=3, least=1, most=16, sentence="Programs that each agent begins.",
    ),
    WholeOption(
        name="loops", label="Loops", default=3, least=1, most=8,
        sentence="Replies of a sample: the first, and those after errors or wrong outputs.",
    ),
    NumberOption(
        name="temperature", label="Temperature", default=0.7, least=0, most=_HOTTEST,
        sentence="Temperature of the model; at 0, samples differ only by their view.",
    ),
    WholeOption(
        name="seed", label="Seed", default=0, least=0, most=1 << 31, is_draw=True,
        sentence="Seed of the samples, and of the choice among programs that fit.",
    ),
    WholeOption(
        name="context", label="Context", default=0, least=0, most=MOST_CONTEXT,
        sentence="Tasks whose first prompt, with the grid and the view objects, has more tokens of the model are not "
        "attempted; 0: no limit.",
    ),
    ChoiceOption(
        name="style", label="Prompts", default=PAPER.name, choices=tuple(STYLES),
        sentence="The paper's prompts of thousands of tokens, or compact ones for small networks.",
    ),
)  # fmt: skip
EXPERTS_OPTIONS = StrategyOptions(
    (
        NamesOption(
            name="views", label="Views", choices=AGENT_NAMES, when_empty="all agents of the prompts' style",
            names_when_empty=lambda values: [agent.name for agent in STYLES[str(values["style"])].agents],
            sentence="Agents, each named by its views.",
        ),
        *_COMMON,
    )
)  # fmt: skip
SINGLE_OPTIONS = StrategyOptions(
    (
        ChoiceOption(
            name="view", label="View", default="objects", choices=AGENT_NAMES, sentence="The agent, named by its views."
        ),
        *_COMMON,
    ),
    bare="view",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of a strategy; the defaults are the paper's."""

    agents: Sequence[Agent] = AGENTS
    samples: int = 3
    """Samples per agent."""
    loops: int = 3
    """Maximum number of replies per sample."""
    temperature: float = 0.7
    seed: int = 0
    """Seed of sampling, and of the choice among programs that fit."""
    context: int = 0
    """Tokens of the model that the first prompt of `_COUNTED` may have; 0: any number."""
    style: Style = PAPER


def options_of(values: Mapping[str, OptionValue]) -> Options:
    """The options of values that `EXPERTS_OPTIONS` or `SINGLE_OPTIONS` has read."""
    others: dict[str, Any] = dict(values)
    style = STYLES[others.pop("style")]
    names = others.pop("views", "") or others.pop("view", "")
    return Options(**others, style=style, agents=agents_named(names) if names else style.agents)


MOST_CANDIDATES = 3


class Experts:
    """Samples all agents, and answers with three programs that fit the demonstrations."""

    name: ClassVar[str] = "arc-experts"
    description: ClassVar[str] = (
        "The multi-expert system for ARC: agents with views of their own write programs, correct errors, go on from "
        "wrong outputs, and three programs that fit the demonstrations are drawn."
    )
    catalogue: ClassVar[str] = "arc"
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.GENERATE})
    options: ClassVar[StrategyOptions] = EXPERTS_OPTIONS

    def __init__(self, *, option: str = "") -> None:
        """Args:
        option: options as in the planner's name.

        Raises:
            OptionError: invalid options.
        """
        self._options = options_of(self.options.read_text(option))
        self._trials = Trials()

    @property
    def samples(self) -> bool:
        """See `SamplingStrategy`."""
        return self._options.temperature > 0

    def converse(self, request: PlannerRequest) -> Conversation:
        """See `Strategy`. The draft's plan and alternatives are programs."""
        return _converse(request, options=self._options, trials=self._trials)


class Single(Experts):
    """A single agent of the system."""

    name: ClassVar[str] = "arc-single"
    description: ClassVar[str] = "One agent of the multi-expert system for ARC, named arc-single:VIEW:MODEL."
    options: ClassVar[StrategyOptions] = SINGLE_OPTIONS
    option_first: ClassVar[bool] = True


def _converse(
    request: PlannerRequest, *, options: Options, trials: Trials
) -> Generator[Sequence[Call], Sequence[Answer], Draft]:
    samples = _samples(request, options=options)
    limit = _limit(samples[0], options=options)
    while waiting := [sample for sample in samples if sample.is_open]:
        calls = []
        for sample in waiting:
            # The seed depends on the sample and on the number of its replies.
            text = f"{options.seed} {sample.agent.name} {sample.number} {len(sample.replies)}"
            seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) >> 1
            calls.append(
                GenerateCall(
                    messages=sample.messages(), max_tokens=options.style.most_tokens,
                    temperature=options.temperature, seed=seed, limit=limit,
                )
            )  # fmt: skip
        answers = yield calls
        limit = None
        programs = []
        for sample, answer in zip(waiting, answers, strict=True):
            assert isinstance(answer, Completion)
            if (program := sample.take_reply(answer.text)) is not None:
                programs.append((sample, program))
        trials.run(programs)
    return _draft(request, samples=samples, options=options)


def _limit(sample: Sample, *, options: Options) -> PromptLimit | None:
    if not options.context:
        return None
    messages = options.style.first(
        agent=_COUNTED, demonstrations=sample.demonstrations, test_inputs=sample.test_inputs, before=()
    )
    return PromptLimit(messages=messages, most_tokens=options.context)


def _samples(request: PlannerRequest, *, options: Options) -> list[Sample]:
    train, test = request.task.given.get("train"), request.task.given.get("test")
    if not isinstance(train, list) or not isinstance(test, list):
        raise TypeError("ARC's requests give the grids under train and test")
    pairs = [
        Demonstration(input=grid_of(_field(pair, "input")), output=grid_of(_field(pair, "output"))) for pair in train
    ]
    inputs = [grid_of(_field(pair, "input")) for pair in test]
    return [
        Sample(
            agent=agent, number=number, demonstrations=pairs, test_inputs=inputs, loops=options.loops,
            style=options.style,
        )
        for agent in options.agents
        for number in range(options.samples)
    ]  # fmt: skip


def _field(pair: JsonValue, name: str) -> JsonValue:
    assert isinstance(pair, dict)
    return pair[name]


def _draft(request: PlannerRequest, *, samples: Sequence[Sample], options: Options) -> Draft:
    fitting = list(dict.fromkeys(sample.solution for sample in samples if sample.solution))
    notes: dict[str, JsonValue] = {
        "prompt": options.style.prompt, "seed": options.seed, "fitting": len(fitting),
        "agents": [
            {"view": sample.agent.name, "sample": sample.number + 1, "replies": list(sample.replies)}
            for sample in samples
        ],
    }  # fmt: skip
    if not fitting:
        # Fall back on the program with the most right demonstrations. The paper's system gives no answer.
        passed, program = max((sample.best for sample in samples), key=lambda best: best[0])
        if program:
            return Draft(plan={"program": program}, notes={**notes, "demonstrations_right": passed})
        last = samples[0].replies[-1]
        text = str(last.get("text") or last.get("program") or "")
        return Draft(plan=text, unreadable="no reply holds a program that runs", notes=notes)
    rng = random.Random(f"{options.seed} {request.task.id}")  # noqa: S311 - not for secrets
    first, *others = ({"program": program} for program in rng.sample(fitting, min(MOST_CANDIDATES, len(fitting))))
    return Draft(plan=first, alternatives=tuple(others), notes=notes)
