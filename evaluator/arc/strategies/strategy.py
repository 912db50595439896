"""The multi-expert system for ARC (Tan & Motani 2023, section 3) and one of its agents alone, as strategies."""

import hashlib
import random
from collections.abc import Generator, Sequence
from typing import ClassVar

from evaluator.arc.demonstrations import Demonstration
from evaluator.arc.grids import grid_of
from evaluator.arc.strategies.agents import AGENTS
from evaluator.arc.strategies.options import Options, options_of, options_of_one
from evaluator.arc.strategies.sampling import Sample
from evaluator.arc.strategies.trying import Trials
from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Ability, Answer, Call, Completion, GenerateCall
from evaluator.core.planner import PlannerRequest
from evaluator.core.strategy import Conversation, Draft

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
        heard = []
        for sample, answer in zip(waiting, answers, strict=True):
            assert isinstance(answer, Completion)
            heard.append((sample, sample.hear(answer.text)))
        trials.run([(sample, program) for sample, program in heard if program is not None])
    return _draft(request, samples=samples, options=options)


def _samples(request: PlannerRequest, *, options: Options) -> list[Sample]:
    given = request.task.given
    train, test = given.get("train"), given.get("test")
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
    seed = _number(f"{options.seed} {sample.agent.name} {sample.number} {len(sample.replies)}")
    return GenerateCall(
        messages=sample.messages(), max_tokens=options.style.most_tokens, temperature=options.temperature, seed=seed
    )


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
        return _without_fitting(samples, notes=notes)
    rng = random.Random(f"{options.seed} {request.task.id}")  # noqa: S311 - not for secrets
    chosen = rng.sample(fitting, min(MOST_CANDIDATES, len(fitting)))
    first, *others = ({"program": program} for program in chosen)
    return Draft(plan=first, alternatives=tuple(others), notes=notes)


def _without_fitting(samples: Sequence[Sample], *, notes: dict[str, JsonValue]) -> Draft:
    """The program with the most right demonstrations: the paper's system has no answer then."""
    passed, program = max((sample.best for sample in samples), key=lambda best: best[0])
    if not program:
        last = samples[0].replies[-1]
        written = str(last.get("text") or last.get("program") or "")
        return Draft(plan=written, unreadable="no reply holds a program that runs", notes=notes)
    return Draft(plan={"program": program}, notes={**notes, "demonstrations_right": passed})


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) >> 1
