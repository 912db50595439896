"""The multi-expert system for ARC (Tan & Motani 2023, section 3) and its single agents, as strategies.

Options set the agents, the number of samples and the style of prompts:
`arc-experts@views=objects,pixels;samples=1:MODEL`, `arc-single:objects;style=compact:MODEL`.
"""

import hashlib
import random
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from evaluator.arc.grids import Demonstration, grid_of
from evaluator.arc.strategies.agents import AGENTS, Agent, agent_named, agents_named
from evaluator.arc.strategies.sampling import Sample, Trials
from evaluator.arc.strategies.styles import PAPER, STYLES, Style
from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Ability, Answer, Call, Completion, GenerateCall
from evaluator.core.planner import PlannerRequest
from evaluator.core.strategy import Conversation, Draft

MOST_SAMPLES, MOST_LOOPS, MOST_SEED = 16, 8, 1 << 31
_HOTTEST = 2.0


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
    style: Style = PAPER


def options_of(text: str) -> Options:
    """Parse options: `NAME=VALUE`, separated by semicolons.

    Raises:
        ValueError: unknown option, or invalid value.
    """
    options: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, equals, value = part.partition("=")
        if not equals or name not in _READ or _READ[name][0] in options:
            raise ValueError(f"{part!r} is an unknown or repeated option; write {'; '.join(_FORMS)}")
        field, read = _READ[name]
        options[field] = read(name, value.strip())
    if "style" in options:
        options.setdefault("agents", options["style"].agents)
    return Options(**options)


def options_of_one(text: str) -> Options:
    """Parse the options of one agent: its name, followed by options, separated by semicolons.

    Raises:
        ValueError: unknown agent or option, or invalid value.
    """
    name, _, others = text.partition(";")
    agent = agent_named(name)
    if any(part.partition("=")[0].strip() == "views" for part in others.split(";")):
        raise ValueError(f"the view is {name} already; leave views= out")
    return replace(options_of(others), agents=(agent,))


def _style(name: str, value: str) -> Style:
    if value not in STYLES:
        raise ValueError(f"{name} is {value!r}: it must be {' or '.join(STYLES)}")
    return STYLES[value]


def _whole(most: int, *, least: int = 1) -> Any:
    def read(name: str, value: str) -> int:
        if not (value.isascii() and value.isdecimal()) or not least <= int(value) <= most:
            raise ValueError(f"{name} is {value!r}: it must be a whole number from {least} to {most}")
        return int(value)

    return read


def _temperature(name: str, value: str) -> float:
    try:
        temperature = float(value)
    except ValueError:
        temperature = -1.0
    if not 0 <= temperature <= _HOTTEST:
        raise ValueError(f"{name} is {value!r}: it must be a number from 0 to {_HOTTEST:g}")
    return temperature


_READ: Mapping[str, tuple[str, Any]] = {
    "views": ("agents", lambda _, value: agents_named(value)),
    "samples": ("samples", _whole(MOST_SAMPLES)),
    "loops": ("loops", _whole(MOST_LOOPS)),
    "temperature": ("temperature", _temperature),
    "seed": ("seed", _whole(MOST_SEED, least=0)),
    "style": ("style", _style),
}
_FORMS = (
    "views=objects,objects_diag+pixels", "samples=3", "loops=3", "temperature=0.7", "seed=0", "style=compact",
)  # fmt: skip


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
    option: ClassVar[str] = "views=NAME,NAME;samples=N;loops=N;temperature=T;seed=N;style=compact, each or none of them"

    def __init__(self, *, option: str = "") -> None:
        """Args:
        option: see `options_of`.

        Raises:
            ValueError: invalid options.
        """
        self._options = options_of(option)
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
    option: ClassVar[str] = f"a view: {', '.join(agent.name for agent in AGENTS)}; then options as of arc-experts"
    option_first: ClassVar[bool] = True

    def __init__(self, *, option: str = "objects") -> None:
        """Args:
        option: see `options_of_one`.

        Raises:
            ValueError: invalid options.
        """
        super().__init__()
        self._options = options_of_one(option)


def _converse(
    request: PlannerRequest, *, options: Options, trials: Trials
) -> Generator[Sequence[Call], Sequence[Answer], Draft]:
    samples = _samples(request, options=options)
    while waiting := [sample for sample in samples if sample.is_open]:
        calls = []
        for sample in waiting:
            # The seed depends on the sample and on the number of its replies.
            text = f"{options.seed} {sample.agent.name} {sample.number} {len(sample.replies)}"
            seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) >> 1
            calls.append(
                GenerateCall(
                    messages=sample.messages(), max_tokens=options.style.most_tokens,
                    temperature=options.temperature, seed=seed,
                )
            )  # fmt: skip
        answers = yield calls
        programs = []
        for sample, answer in zip(waiting, answers, strict=True):
            assert isinstance(answer, Completion)
            if (program := sample.take_reply(answer.text)) is not None:
                programs.append((sample, program))
        trials.run(programs)
    return _draft(request, samples=samples, options=options)


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
