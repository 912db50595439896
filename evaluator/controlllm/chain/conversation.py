"""The stages of one request in order, from its words to the response, without models, threads or files.

The conversation is a generator of calls for a language model, which are answered in order, and of plans to run. Without
a language model only tools that do what a part of the request demands may make its result, and parts that no tool does
are declined (`strategies.demands`); with one, the same reading checks that every part has a result of its kind.

After each run all subtasks with a problem are corrected together: first their arguments, at most `MOST_CHANGES` times
per solution, then by the next solution. Results of earlier runs come from the store, so only changed steps run again. A
failed subtask stops only those that need its result. The response lists the results and their files.
"""

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from evaluator.controlllm.chain.corrections import (
    Change,
    Checked,
    Kind,
    Problem,
    Situation,
    check,
    correct_offline,
    correcting_call,
    problems_of,
    read_correction,
)
from evaluator.controlllm.chain.response import failures_of, respond
from evaluator.controlllm.chain.response_scores import ResponseFacts, ResponseScores, score_response
from evaluator.controlllm.chain.state import (
    Entry,
    Outcome,
    Progress,
    StateMemory,
    actions_of,
    plan_without,
)
from evaluator.controlllm.strategies.binding import solution_json
from evaluator.controlllm.strategies.offline_decomposing import decompose_offline
from evaluator.controlllm.strategies.strategy import ControlLLM, Staged, read_response, response_call
from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Answer, Call
from evaluator.core.planner import PlannerRequest
from evaluator.core.plans.model import Plan
from evaluator.core.records import StepRun
from evaluator.execution.engine.jobs import StepFailure
from evaluator.execution.engine.store import ending_of


def results_of(*, progress: Sequence[Progress], state: StateMemory, turn: int = 0) -> dict[str, Entry]:
    """The results of subtasks by file name: `result-1-image.png`, or `result-2-1.png` in the second turn of a
    dialogue."""
    entries = [
        entry
        for subtask in progress
        if subtask.outcome is Outcome.MADE
        for reference in subtask.results
        if (entry := state.get(reference)) is not None
    ]
    return {
        f"result-{name}{ending_of(entry.artefact.media_type)}": entry
        for number, entry in enumerate(entries, start=1)
        if (name := f"{turn}-{number}" if turn else f"{number}-{entry.type}")
    }


def with_all_files(text: str, *, results: Mapping[str, Entry]) -> str:
    """A response that names every file: names that a model omitted are appended."""
    missing = [name for name in results if name not in text]
    return f"{text}\n\nFiles: {', '.join(missing)}." if missing else text


def undone_by(staged: Staged, *, request: PlannerRequest, progress: Sequence[Progress]) -> tuple[str, ...]:
    """Parts of a request without a result of the kind that they demand, with the reason; for other decompositions than
    those by demand, whose subtasks may miss a part or name another one.

    Args:
        staged: the stages before execution.
        request: the request.
        progress: the subtasks at the end.
    """
    made = Counter(result.type for own in progress if own.outcome is Outcome.MADE for result in own.subtask.returns)
    missing = sum(own.outcome is not Outcome.MADE for own in progress)
    undone = []
    tools, lexicon = staged.toolbox.tools, staged.toolbox.lexicon
    for part in decompose_offline(request=request, tools=tools, lexicon=lexicon, by_demand=True):
        (wanted,) = part.return_types
        said = part.description.partition(" Tools that may help:")[0].rstrip(" .")
        if part.lacks:
            undone.append(f'"{said}", because {part.lacks}')
        elif made[wanted]:
            made[wanted] -= 1
        elif missing:
            # The reason is that of a subtask that failed.
            missing -= 1
        else:
            undone.append(f'"{said}", because it has no result of type {wanted}')
    return tuple(undone)


MOST_CHANGES = 3
"""Corrections of the arguments of one solution."""
MOST_ROUNDS = 24
"""Runs of one request's plan: a subtask has at most five solutions of four runs each, and corrections share runs."""


@dataclass(frozen=True, slots=True)
class Run:
    """A plan to run, without answers."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class Ran:
    """The outcome of each step."""

    steps: tuple[StepRun, ...]
    failures: Mapping[str, StepFailure]
    """By step."""
    made: tuple[Entry, ...]


class CorrectionKind(StrEnum):
    """What a correction changes."""

    ARGUMENTS = "arguments"
    SOLUTION = "next solution"
    BACK = "back to the solution that ran"


@dataclass(slots=True)
class Correction:
    """A change at run time, its reason, and its outcome."""

    subtask: int
    kind: CorrectionKind
    tool: str
    problem: str
    message: str
    what: str
    why: str
    by: str
    outcome: str = ""
    """In words; empty before the next run."""
    helped: bool = False
    """Whether the next run of the subtask had no problem; always False for `BACK`."""

    def to_json(self) -> dict[str, JsonValue]:
        """For the transcript."""
        return {
            "subtask": self.subtask, "way": str(self.kind), "tool": self.tool, "problem": self.problem,
            "message": self.message, "what": self.what, "why": self.why, "by": self.by, "outcome": self.outcome,
            "helped": self.helped,
        }  # fmt: skip


class ChainOutcome(StrEnum):
    """The outcome of a request."""

    COMPLETE = "complete"
    """Every part has a result of the wanted kind, from a tool that does it."""
    DECLINED = "declined"
    """No tool does some part, or the request asks for nothing."""
    FAILED = "failed"
    """A tool failed or found nothing."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The outcome of a conversation."""

    staged: Staged
    progress: tuple[Progress, ...]
    state: StateMemory
    rounds: tuple[tuple[StepRun, ...], ...]
    corrections: tuple[Correction, ...]
    results: Mapping[str, Entry]
    """By the name of their file."""
    response: str
    undone: tuple[str, ...] = ()
    """Parts of the request that no subtask stands for, with the reason."""

    @property
    def plan(self) -> list[JsonValue]:
        """The last plan in ControlLLM's format: a list of actions for each subtask."""
        return [solution_json(subtask.solution) for subtask in self.progress if subtask.solution]

    @property
    def is_complete(self) -> bool:
        """Whether every part of the request has a result of the wanted kind, from a tool that does it."""
        return self.outcome is ChainOutcome.COMPLETE

    @property
    def outcome(self) -> "ChainOutcome":
        """The outcome of the request."""
        if self.undone or not self.progress or any(own.outcome is Outcome.DECLINED for own in self.progress):
            return ChainOutcome.DECLINED
        is_made = all(subtask.outcome is Outcome.MADE for subtask in self.progress)
        return ChainOutcome.COMPLETE if is_made else ChainOutcome.FAILED

    def response_scores(self, request: PlannerRequest) -> ResponseScores:
        """Whether the response is faithful and complete, and claims only what ran."""
        failures = [*failures_of(self.progress), *self.undone]
        facts = ResponseFacts(
            request=request.task.request,
            files=tuple(request.task.resources),
            results={name: entry.in_words() for name, entry in self.results.items()},
            ran={step.tool for steps in self.rounds for step in steps if step.error is None},
            undone=[failure.rpartition('", because ')[0].strip('"') for failure in failures],
            further=[
                *failures,
                *(entry.in_words() for entry in self.state.entries()),
                *(value or "" for _, action in actions_of(self.progress) for value in action.inputs.values()),
            ],
        )
        return score_response(self.response, facts=facts)


Want = Sequence[Call] | Run
Reply = Sequence[Answer] | Ran
ChainConversation = Generator[Want, Reply, Finished]


def hold(
    *,
    strategy: ControlLLM,
    request: PlannerRequest,
    given: Sequence[Entry],
    correcting: bool = True,
    declining: bool = True,
    turn: int = 0,
) -> ChainConversation:
    """The conversation about one request.

    Args:
        strategy: decomposes, searches and chooses; if it uses a language model, so do all other stages.
        request: the words, files and tools of the request.
        given: the values of its files.
        correcting: False runs the plan once, unchanged.
        declining: False lets likeness find a tool for any sentence, and does not check that every part was done.
        turn: number of the request in a dialogue, for the names of its results; 0: it is a request of its own.
    """
    staged: Staged = yield from strategy.stages(request, by_demand=declining)
    execution = _Execution(
        request=request.task.request, staged=staged, given=given, asks=strategy.asks, correcting=correcting,
        accepts_empty=not declining,
    )  # fmt: skip
    yield from execution.run()
    progress, state = execution.progress, execution.state
    results = results_of(progress=progress, state=state, turn=turn)
    calls = [action.call() for place, action in actions_of(progress) if progress[place.subtask].outcome is Outcome.MADE]
    values: dict[str, JsonValue] = {name: f"{entry.in_words()} ({entry.type})" for name, entry in results.items()}
    undone = undone_by(staged, request=request, progress=progress) if declining and not strategy.by_rules else ()
    failures = [*failures_of(progress), *undone]
    if strategy.asks:
        answers = yield [response_call(request=request.task.request, calls=calls, results=values, failures=failures)]
        assert not isinstance(answers, Ran)
        response = with_all_files(read_response(answers[0]), results=results)
    else:
        response = respond(progress=progress, state=state, results=results, undone=undone)
    return Finished(
        staged=staged, progress=tuple(progress), state=state, rounds=tuple(execution.rounds),
        corrections=tuple(execution.corrections), results=results, response=response,
        undone=undone,
    )  # fmt: skip


@dataclass(slots=True)
class _Execution:
    """The runs and corrections of one request."""

    request: str
    staged: Staged
    given: Sequence[Entry]
    asks: bool
    correcting: bool
    progress: list[Progress] = field(init=False)
    state: StateMemory = field(init=False)
    rounds: list[tuple[StepRun, ...]] = field(default_factory=list)
    corrections: list[Correction] = field(default_factory=list)
    accepts_empty: bool = False
    """Whether what was made of a selection that found nothing counts as made."""
    waiting: dict[int, Correction] = field(default_factory=dict)
    """By subtask, the correction whose outcome the next run decides."""

    def __post_init__(self) -> None:
        self.progress = list(map(Progress.begin, self.staged.planned))
        for subtask in self.progress:
            if subtask.subtask.lacks:
                subtask.outcome, subtask.why = Outcome.DECLINED, subtask.subtask.lacks
        self.state = StateMemory(self.given)

    def run(self) -> Generator[Want, Reply, None]:
        """Run and correct until no correction is left."""
        for number in range(MOST_ROUNDS):
            checked = self._checked()
            ran = yield Run(plan_without(progress=self.progress, left_out=checked.left_out))
            assert isinstance(ran, Ran)
            self.rounds.append(ran.steps)
            self.state = StateMemory([*self.given, *ran.made])
            problems = problems_of(progress=self.progress, checked=checked, failures=ran.failures, state=self.state)
            self._settle(problems)
            if not problems:
                break
            if not self.correcting or number == MOST_ROUNDS - 1:
                self._give_up(problems)
                break
            yield from self._correct(problems)
        # Block subtasks that depend on failed ones, and fail those still open.
        self._checked()
        for subtask in self.progress:
            if subtask.outcome is Outcome.OPEN:
                subtask.outcome, subtask.why = Outcome.FAILED, "there was no run left to correct it"
        self._checked()

    def _checked(self) -> Checked:
        """Look up all arguments, and block subtasks that depend on a failed one, directly or not."""
        while True:
            checked = check(progress=self.progress, given=StateMemory(self.given))
            if not checked.blocked:
                return checked
            for number, lost in checked.blocked.items():
                self.progress[number].outcome = Outcome.BLOCKED
                self.progress[number].why = f"it needs {lost}, which was not made"

    def _settle(self, problems: Mapping[int, Problem]) -> None:
        """Record the outcome of corrections, and which subtasks made their result."""
        for number, correction in self.waiting.items():
            problem = problems.get(number)
            correction.helped = problem is None and correction.kind is not CorrectionKind.BACK
            correction.outcome = "it ran" if problem is None else f"{problem.kind}: {problem.message}"
        self.waiting.clear()
        for number, subtask in enumerate(self.progress):
            if subtask.is_active:
                # A subtask that waits for another one has neither a problem nor a result.
                made = number not in problems and all(self.state.get(result) for result in subtask.results)
                subtask.outcome = Outcome.MADE if made else Outcome.OPEN

    def _correct(self, problems: Mapping[int, Problem]) -> Generator[Want, Reply, None]:
        for number, problem in problems.items():
            self.progress[number].undo(action=problem.place.action, problem=str(problem.kind))
        situation = Situation(request=self.request, progress=self.progress, state=self.state)
        correctable = {
            number: problem
            for number, problem in problems.items()
            if problem.kind is not Kind.EXPERT and self.progress[number].changes < MOST_CHANGES
        }
        changes: dict[int, Change | None] = {}
        if self.asks and correctable:
            answers = yield [correcting_call(problem=problem, situation=situation) for problem in correctable.values()]
            assert not isinstance(answers, Ran)
            changes = {
                number: read_correction(answer=answer, problem=problem, situation=situation)
                for (number, problem), answer in zip(correctable.items(), answers, strict=True)
            }
        for number, problem in correctable.items():
            changes[number] = changes.get(number) or correct_offline(problem=problem, situation=situation)
        for number, problem in problems.items():
            subtask = self.progress[number]
            if problem.kind is Kind.NOTHING and subtask.fallback is None:
                subtask.fallback = (subtask.choice, subtask.solution)
            change = changes.get(number)
            if change is None:
                self._next_solution(number, problem=problem)
                continue
            old = subtask.solution[problem.place.action].inputs
            what = ", ".join(f"{name}: {old.get(name)} -> {value}" for name, value in change.inputs.items())
            self._record(number, CorrectionKind.ARGUMENTS, problem=problem, what=what, why=change.why, by=change.by)
            subtask.change(action=problem.place.action, problem=str(problem.kind), inputs=change.inputs)

    def _next_solution(self, number: int, *, problem: Problem) -> None:
        """Switch to the subtask's next solution, or end it."""
        subtask = self.progress[number]
        following = subtask.choice + 1
        if following < len(subtask.planned.candidates) and not problem.is_result:
            what = f"solution {following + 1}: {', '.join(subtask.planned.candidates[following].path)}"
            self._record(
                number, CorrectionKind.SOLUTION, problem=problem, what=what, why="no argument is left to change"
            )
            subtask.take(following)
        elif subtask.fallback is not None and (self.accepts_empty or problem.is_result):
            choice, solution = subtask.fallback
            if (choice, solution) != (subtask.choice, subtask.solution):
                what = f"solution {choice + 1}, as it ran"
                self._record(number, CorrectionKind.BACK, problem=problem, what=what, why="nothing else finds more")
            subtask.take(choice, solution=solution)
            subtask.accepts_empty = True
        else:
            subtask.outcome, subtask.why = Outcome.FAILED, problem.message

    def _record(
        self, number: int, kind: CorrectionKind, *, problem: Problem, what: str, why: str, by: str = "rules"
    ) -> None:
        subtask = self.progress[number]
        correction = Correction(
            subtask=subtask.subtask.id, kind=kind, tool=subtask.solution[problem.place.action].tool.name,
            problem=str(problem.kind), message=problem.message, what=what, why=why, by=by,
        )  # fmt: skip
        self.corrections.append(correction)
        self.waiting[number] = correction

    def _give_up(self, problems: Mapping[int, Problem]) -> None:
        """Without corrections an empty selection is a result, and every other problem a failure."""
        for number, problem in problems.items():
            subtask = self.progress[number]
            if problem.kind is Kind.NOTHING and (self.accepts_empty or problem.is_result):
                subtask.outcome = Outcome.MADE
            else:
                subtask.outcome, subtask.why = Outcome.FAILED, problem.message
