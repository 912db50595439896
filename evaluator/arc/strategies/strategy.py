"""The multi-expert system for ARC (Tan & Motani 2023, section 3) and one of its agents alone, as strategies.

Options say how many programs are sampled, from whom, and how agents are asked:
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
    """The paper's, unless something else is said."""

    agents: Sequence[Agent] = AGENTS
    samples: int = 3
    """Of each agent."""
    loops: int = 3
    """Replies of each sample, the first included."""
    temperature: float = 0.7
    seed: int = 0
    """Of what is sampled, and of the choice among programs that fit."""
    style: Style = PAPER


def options_of(text: str) -> Options:
    """Options as `NAME=VALUE`, with semicolons between.

    Raises:
        ValueError: there is no such option, or its value is wrong.
    """
    found: dict[str, Any] = {}
    for part in filter(None, (one.strip() for one in text.split(";"))):
        name, equals, value = part.partition("=")
        if not equals or name not in _READ or _READ[name][0] in found:
            raise ValueError(f"{part!r} is no option, or stands twice; write {'; '.join(_FORMS.values())}")
        field, read = _READ[name]
        found[field] = read(name, value.strip())
    if "style" in found:
        found.setdefault("agents", found["style"].agents)
    return replace(Options(), **found)


def options_of_one(text: str) -> Options:
    """Options of one agent: its name, and what else is said behind semicolons.

    Raises:
        ValueError: there is no such agent or option, or its value is wrong.
    """
    name, _, others = text.partition(";")
    agent = agent_named(name)
    if any(one.partition("=")[0].strip() == "views" for one in others.split(";")):
        raise ValueError(f"the view is {name} already; leave views= out")
    return replace(options_of(others), agents=(agent,))


def _agents(name: str, value: str) -> Sequence[Agent]:
    del name
    return agents_named(value)


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
        found = float(value)
    except ValueError:
        found = -1.0
    if not 0 <= found <= _HOTTEST:
        raise ValueError(f"{name} is {value!r}: it must be a number from 0 to {_HOTTEST:g}")
    return found


_READ: Mapping[str, tuple[str, Any]] = {
    "views": ("agents", _agents),
    "samples": ("samples", _whole(MOST_SAMPLES)),
    "loops": ("loops", _whole(MOST_LOOPS)),
    "temperature": ("temperature", _temperature),
    "seed": ("seed", _whole(MOST_SEED, least=0)),
    "style": ("style", _style),
}
_FORMS = {
    "views": "views=objects,objects_diag+pixels",
    "samples": "samples=3",
    "loops": "loops=3",
    "temperature": "temperature=0.7",
    "seed": "seed=0",
    "style": "style=compact",
}


MOST_CANDIDATES = 3


class Experts:
    """All agents are sampled; three of the programs that fit the demonstrations are the answer."""

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
            ValueError: it is none.
        """
        self._options = options_of(option)
        self._trials = Trials()

    def converse(self, request: PlannerRequest) -> Conversation:
        """See `Strategy`. The draft's plan and alternatives are programs."""
        return _converse(request, options=self._options, trials=self._trials)


class Single(Experts):
    """One agent, sampled as often as in the whole system."""

    name: ClassVar[str] = "arc-single"
    description: ClassVar[str] = "One agent of the multi-expert system for ARC: `arc-single:VIEW:MODEL`."
    option: ClassVar[str] = f"a view: {', '.join(agent.name for agent in AGENTS)}; then options as of arc-experts"
    option_first: ClassVar[bool] = True

    def __init__(self, *, option: str = "objects") -> None:
        """Args:
        option: see `options_of_one`.

        Raises:
            ValueError: it is none.
        """
        super().__init__()
        self._options = options_of_one(option)


def _converse(
    request: PlannerRequest, *, options: Options, trials: Trials
) -> Generator[Sequence[Call], Sequence[Answer], Draft]:
    samples = _samples(request, options=options)
    while waiting := [sample for sample in samples if sample.is_open]:
        answers = yield [_call(sample, options=options) for sample in waiting]
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


def _call(sample: Sample, *, options: Options) -> GenerateCall:
    # Samples differ by their seeds; so do the replies of one.
    text = f"{options.seed} {sample.agent.name} {sample.number} {len(sample.replies)}"
    return GenerateCall(
        messages=sample.messages(), max_tokens=options.style.most_tokens, temperature=options.temperature,
        seed=int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) >> 1,
    )  # fmt: skip


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
        # The program with the most right demonstrations: the paper's system has no answer then.
        passed, program = max((sample.best for sample in samples), key=lambda best: best[0])
        if program:
            return Draft(plan={"program": program}, notes={**notes, "demonstrations_right": passed})
        last = samples[0].replies[-1]
        text = str(last.get("text") or last.get("program") or "")
        return Draft(plan=text, unreadable="no reply holds a program that runs", notes=notes)
    rng = random.Random(f"{options.seed} {request.task.id}")  # noqa: S311 - not for secrets
    first, *others = ({"program": program} for program in rng.sample(fitting, min(MOST_CANDIDATES, len(fitting))))
    return Draft(plan=first, alternatives=tuple(others), notes=notes)
