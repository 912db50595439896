"""The state of an episode: the open turn, its feedback, and with typed results the plan so far."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from evaluator.core import canonical_json
from evaluator.core.plans.model import Plan, Step
from evaluator.core.records import ArtefactReference, StepRun
from evaluator.core.transcripts import RoleUsage, TurnRun, sum_by_role, sum_of_known
from evaluator.core.turns import ActionResult, PastTurn, TurnReply
from evaluator.episodes.turns.environment import ExpertRun, TypedTask, TypedValue
from evaluator.episodes.turns.reading import FinishedAction


@dataclass(slots=True)
class Work:
    """The steps so far. A name may be reused for several results; in the plan each result has its own."""

    results: dict[str, str] = field(default_factory=dict)
    """Displayed texts by name of the result, the latest last."""
    used: set[str] = field(default_factory=set)
    """Names of the results that actions used."""
    steps: list[Step] = field(default_factory=list)
    runs: list[StepRun] = field(default_factory=list)
    answers: tuple[ArtefactReference, ...] = ()
    _origins: dict[str, str] = field(default_factory=dict)
    """References in the plan, by name."""
    _answered: tuple[str, ...] = ()
    """References of the answers in the plan."""

    @classmethod
    def starting_with(cls, typed: TypedTask) -> Self:
        """The initial state, with the inputs of the request."""
        return cls(_origins={key: key for key in typed.values()})

    def add(self, run: ExpertRun, *, outputs: Sequence[str], shown: Sequence[str]) -> None:
        """Add a successful action.

        Args:
            run: the call of its expert.
            outputs: the action's names of its results.
            shown: the displayed results.
        """
        number = len(self.steps) + 1
        self.used |= {value for value in run.inputs.values() if value in self.results}
        references = {name: f"s{number}.{name}" for name in run.outputs}
        inputs = {name: self._origins.get(value, value) for name, value in run.inputs.items()}
        self.steps.append(Step(id=f"s{number}", tool=run.tool, inputs=inputs, outputs=references))
        self.runs.append(run.step.model_copy(update={"step": f"s{number}"}))
        for name, reference, text in zip(outputs, references.values(), shown, strict=True):
            self.forget(name)
            self.results[name] = text
            self._origins[name] = reference

    def forget(self, name: str) -> None:
        """Remove the result with this name, if any."""
        self.results.pop(name, None)
        self.used.discard(name)
        self._origins.pop(name, None)

    def answer(self, names: Sequence[str], *, values: Mapping[str, str]) -> None:
        """Set the answers to these results."""
        self.answers = tuple(TypedValue.read(values[name]).artefact for name in names)
        self._answered = tuple(self._origins[name] for name in names)

    def text_of(self, name: str) -> str:
        """The displayed text of a result, or the name of an input."""
        return self.results.get(name, name)

    def plan(self, *, subgoals: Sequence[str]) -> Plan:
        """The actions so far as a plan."""
        return Plan(steps=tuple(self.steps), answers=self._answered, subgoals=tuple(subgoals) or None)


@dataclass(slots=True)
class OpenTurn:
    """The current turn."""

    received: list[str] = field(default_factory=list)
    subgoals: tuple[str, ...] = ()
    actions: list[FinishedAction] = field(default_factory=list)
    error: str = ""
    seconds: float = 0.0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    roles: dict[str, RoleUsage] = field(default_factory=dict)
    tries: int = 0

    def add(self, reply: TurnReply) -> None:
        """Add an answer of the planner to the turn."""
        call = reply.call
        self.received.append(canonical_json.dumps(reply.response.model_dump(exclude_defaults=True)))
        self.seconds += call.seconds
        self.tries += call.tries
        self.prompt_tokens = sum_of_known((self.prompt_tokens, call.prompt_tokens))
        self.completion_tokens = sum_of_known((self.completion_tokens, call.completion_tokens))
        self.cached_tokens = sum_of_known((self.cached_tokens, call.cached_tokens))
        self.reasoning_tokens = sum_of_known((self.reasoning_tokens, call.reasoning_tokens))
        self.roles = sum_by_role((self.roles, call.roles))

    def to_record(self, *, is_cut: bool) -> TurnRun:
        """The turn for the record."""
        return TurnRun(
            received=self.received, subgoals=list(self.subgoals), actions=[action.run for action in self.actions],
            error=self.error, is_cut=is_cut, seconds=round(self.seconds, 6), prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens, cached_tokens=self.cached_tokens,
            reasoning_tokens=self.reasoning_tokens, tries=max(1, self.tries),
            roles=self.roles,
        )  # fmt: skip


def cut(text: str, *, characters: int) -> str:
    """The text, cut to `characters` with a note on its length if it is longer."""
    if len(text) <= characters:
        return text
    return f"{text[:characters]} [cut: {characters} of {len(text)} characters]"


def past_turn(
    *, index: int, subgoals: tuple[str, ...], actions: Sequence[FinishedAction], error: str, characters: int
) -> tuple[PastTurn, bool]:
    """A turn as presented in later requests, and whether anything was cut."""
    share = max(1, characters // max(1, len(actions)))
    results = [
        ActionResult(
            action=cut(action.planned.text, characters=share),
            outputs={name: cut(text, characters=share) for name, text in action.values.items()},
            pictures=dict(action.pictures),
            error=cut(action.run.error, characters=share),
        )
        for action in actions
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
