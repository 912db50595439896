"""The actions of an episode so far: the open turn, its feedback, and with typed results the plan that they make."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from evaluator.core import canonical_json
from evaluator.core.plans.model import Plan, Step
from evaluator.core.records import ArtefactReference, StepRun
from evaluator.core.transcripts import TurnRun
from evaluator.core.turns import ActionResult, PastTurn, TurnReply
from evaluator.episodes.turns.environment import ExpertRun, TypedTask, TypedValue
from evaluator.episodes.turns.reading import Done


@dataclass(slots=True)
class Work:
    """The steps so far. A name may be given to several results in turn; in the plan each has one of its own."""

    made: dict[str, str] = field(default_factory=dict)
    """Names of the results, the latest last, with the text that each is shown as."""
    taken: set[str] = field(default_factory=set)
    """Names of results that an action took."""
    steps: list[Step] = field(default_factory=list)
    runs: list[StepRun] = field(default_factory=list)
    answers: tuple[ArtefactReference, ...] = ()
    _origins: dict[str, str] = field(default_factory=dict)
    """By name, the reference of the plan."""
    _answered: tuple[str, ...] = ()
    """References of the answers."""

    @classmethod
    def begun(cls, typed: TypedTask) -> Self:
        """Nothing is done yet."""
        return cls(_origins={key: key for key in typed.held()})

    def add(self, run: ExpertRun, *, outputs: Sequence[str], shown: Sequence[str]) -> None:
        """An action worked.

        Args:
            run: how its expert was called.
            outputs: what the action calls its results.
            shown: the results as texts.
        """
        number = len(self.steps) + 1
        self.taken |= {value for value in run.inputs.values() if value in self.made}
        references = {name: f"s{number}.{name}" for name in run.outputs}
        inputs = {name: self._origins.get(value, value) for name, value in run.inputs.items()}
        self.steps.append(Step(id=f"s{number}", tool=run.tool, inputs=inputs, outputs=references))
        self.runs.append(run.step.model_copy(update={"step": f"s{number}"}))
        for name, reference, text in zip(outputs, references.values(), shown, strict=True):
            self.forget(name)
            self.made[name] = text
            self._origins[name] = reference

    def forget(self, name: str) -> None:
        """There is no result of this name any more."""
        self.made.pop(name, None)
        self.taken.discard(name)
        self._origins.pop(name, None)

    def answer(self, names: Sequence[str], *, values: Mapping[str, str]) -> None:
        """These results are the answers."""
        self.answers = tuple(TypedValue.read(values[name]).artefact for name in names)
        self._answered = tuple(self._origins[name] for name in names)

    def shown_as(self, name: str) -> str:
        """A result as a text; an input of the request by its name."""
        return self.made.get(name, name)

    def plan(self, *, subgoals: Sequence[str]) -> Plan:
        """What was done, as a plan."""
        return Plan(steps=tuple(self.steps), answers=self._answered, subgoals=tuple(subgoals) or None)


@dataclass(slots=True)
class OpenTurn:
    """A turn that is going on."""

    received: list[str] = field(default_factory=list)
    subgoals: tuple[str, ...] = ()
    actions: list[Done] = field(default_factory=list)
    error: str = ""
    seconds: float = 0.0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    tries: int = 0

    def add(self, reply: TurnReply) -> None:
        """Take an answer, or another one."""
        call = reply.call
        self.received.append(canonical_json.dumps(reply.response.model_dump(exclude_defaults=True)))
        self.seconds += call.seconds
        self.tries += call.tries
        self.prompt_tokens = _sum(self.prompt_tokens, call.prompt_tokens)
        self.completion_tokens = _sum(self.completion_tokens, call.completion_tokens)

    def kept(self, *, is_cut: bool) -> TurnRun:
        """The turn as records have it."""
        return TurnRun(
            received=self.received, subgoals=list(self.subgoals), actions=[done.run for done in self.actions],
            error=self.error, is_cut=is_cut, seconds=round(self.seconds, 6), prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens, tries=max(1, self.tries),
        )  # fmt: skip


def _sum(one: int | None, other: int | None) -> int | None:
    return one if other is None else other + (one or 0)


def cut(text: str, *, characters: int) -> str:
    """The text, or its beginning with a remark on how much of it there is. Cut texts have exactly that many characters,
    the remark aside."""
    if len(text) <= characters:
        return text
    return f"{text[:characters]} [cut: {characters} of {len(text)} characters]"


def past_turn(
    *, index: int, subgoals: tuple[str, ...], actions: Sequence[Done], error: str, characters: int
) -> tuple[PastTurn, bool]:
    """A turn as later requests tell it, and whether anything was cut."""
    share = max(1, characters // max(1, len(actions)))
    results = [
        ActionResult(
            action=cut(done.wanted.text, characters=share),
            outputs={name: cut(text, characters=share) for name, text in done.values.items()},
            pictures=dict(done.pictures),
            error=cut(done.run.error, characters=share),
        )
        for done in actions
    ]
    words = [
        f"{'; '.join(f'{name} = {text}' for name, text in result.outputs.items())}{result.error}" for result in results
    ]
    feedback = "\n".join(filter(None, (error, *words)))
    is_cut = len(feedback) > characters or any(
        "[cut: " in text for result in results for text in result.outputs.values()
    )
    past = PastTurn(
        index=index, subgoals=[cut(text, characters=characters // len(subgoals)) for text in subgoals],
        results=results, error=cut(error, characters=characters),
        feedback=cut(feedback, characters=characters),
    )  # fmt: skip
    return past, is_cut
