"""One request from its words to the response: the stages in order, without models, threads or files.

The conversation yields what it needs: calls for a language model, answered in order, or a plan to run. Without a
language model it first declines subtasks that no tool is like and files that are not there, since the rules of the
decomposition find a tool for any sentence, even for sending an email.

After each run all subtasks with a problem are corrected together: first their arguments, at most `MOST_CHANGES` times
per solution, then by the next solution. Results of earlier runs come from the store, so only changed steps run again. A
failed subtask stops only those that need its result. The response lists the results and their files.
"""

import re
from collections.abc import Collection, Generator, Mapping, Sequence
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
from evaluator.controlllm.chain.state import (
    Entry,
    Outcome,
    Progress,
    StateMemory,
    actions_of,
    plan_actions,
    plan_without,
)
from evaluator.controlllm.strategies.offline_decomposing import likeness_to_tools
from evaluator.controlllm.strategies.strategy import ControlLLM, Staged, read_response, respond_offline, response_call
from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Answer, Call, GenerateCall
from evaluator.core.planner import PlannerRequest
from evaluator.core.plans.model import Plan
from evaluator.core.records import StepRun
from evaluator.core.values import MediaType
from evaluator.execution.engine.jobs import StepFailure

_ENDINGS = {MediaType.PNG: "png", MediaType.CLIP: "apng", MediaType.FINDINGS: "json", MediaType.TEXT: "txt"}


def results_of(*, progress: Sequence[Progress], state: StateMemory) -> dict[str, Entry]:
    """Results that subtasks returned, by file name: `result-1-image.png`, ..."""
    found = [
        entry
        for one in progress
        if one.outcome is Outcome.MADE
        for reference in one.results
        if (entry := state.get(reference)) is not None
    ]
    return {
        f"result-{number}-{entry.type}.{_ENDINGS[MediaType(entry.artefact.media_type)]}": entry
        for number, entry in enumerate(found, start=1)
    }


def failures_of(progress: Sequence[Progress]) -> list[str]:
    """Failures as sentences."""
    return [
        f"{one.planned.searching.subtask.description} ({one.why})"
        for one in progress
        if one.outcome in (Outcome.FAILED, Outcome.DECLINED, Outcome.BLOCKED)
    ]


def response_without_model(*, progress: Sequence[Progress], results: Mapping[str, Entry]) -> str:
    """The response in plain sentences."""
    return respond_offline(calls=_calls(progress), results=_shown(results), failures=failures_of(progress))


def asking_for_response(*, request: str, progress: Sequence[Progress], results: Mapping[str, Entry]) -> GenerateCall:
    """The call that asks for the response."""
    return response_call(
        request=request, calls=_calls(progress), results=_shown(results), failures=failures_of(progress)
    )


def with_all_files(text: str, *, results: Mapping[str, Entry]) -> str:
    """A response that names every file: names that a model omitted are appended."""
    missing = [name for name in results if name not in text]
    return f"{text}\n\nFiles: {', '.join(missing)}." if missing else text


def _calls(progress: Sequence[Progress]) -> list[str]:
    return [
        f"{action.tool.name}({', '.join(f'{name}={value}' for name, value in action.inputs.items())})"
        for place, action in actions_of(progress)
        if progress[place.subtask].outcome is Outcome.MADE
    ]


def _shown(results: Mapping[str, Entry]) -> dict[str, JsonValue]:
    return {name: f"{entry.in_words()} ({entry.type})" for name, entry in results.items()}


LEAST_LIKENESS = 0.27
"""Calibrated on requests that the tools can meet and on others that they cannot: of the thresholds tried it has the
largest sum of the first accepted and the second declined (`docs/planners.md`, "What is declined")."""
_FILE = re.compile(r"[\w-]+\.(?:png|jpe?g|gif|webp|mp4|wav|mp3|txt)\b", re.IGNORECASE)


def declined(staged: Staged, *, files: Collection[str]) -> dict[int, str]:
    """Why subtasks are declined, by their position; only of decompositions by rules.

    Args:
        staged: the stages before execution.
        files: names of the given files.
    """
    if staged.decomposed.tries or staged.decomposed.network:
        return {}
    found: dict[int, str] = {}
    for number, planned in enumerate(staged.planned):
        subtask = planned.searching.subtask
        missing = [name for name in _FILE.findall(subtask.description) if name not in files]
        likeness = likeness_to_tools(subtask, tools=staged.toolbox.tools, lexicon=staged.toolbox.lexicon)
        if missing:
            found[number] = f"{missing[0]} is not among the given files"
        elif likeness is not None and likeness < LEAST_LIKENESS:
            found[number] = f"no tool is for this: likeness {likeness:.2f}, below {LEAST_LIKENESS}"
    return found


MOST_CHANGES = 3
"""Corrections of the arguments of one solution."""
MOST_ROUNDS = 24
"""Runs of one request's plan: a subtask has at most five solutions of four runs each, and corrections share runs."""


@dataclass(frozen=True, slots=True)
class Run:
    """Asks for a plan to be run. It names no answers."""

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
    way: CorrectionKind
    tool: str
    problem: str
    message: str
    what: str
    why: str
    by: str
    outcome: str = ""
    """In words; empty before the next run."""
    helped: bool = False
    """Whether it left the subtask without a problem in the next run; never for the way back."""

    def to_json(self) -> dict[str, JsonValue]:
        """For the transcript."""
        return {
            "subtask": self.subtask, "way": str(self.way), "tool": self.tool, "problem": self.problem,
            "message": self.message,
            "what": self.what, "why": self.why, "by": self.by, "outcome": self.outcome,
            "helped": self.helped,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Finished:
    """Everything about one request."""

    staged: Staged
    progress: tuple[Progress, ...]
    state: StateMemory
    rounds: tuple[tuple[StepRun, ...], ...]
    corrections: tuple[Correction, ...]
    results: Mapping[str, Entry]
    """By the name of their file."""
    response: str

    @property
    def plan(self) -> list[JsonValue]:
        """The plan that was run last, in ControlLLM's form."""
        return plan_actions(self.progress)

    @property
    def is_complete(self) -> bool:
        """Whether there are subtasks and each produced its result."""
        return bool(self.progress) and all(one.outcome is Outcome.MADE for one in self.progress)


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
) -> ChainConversation:
    """The conversation about one request.

    Args:
        strategy: decomposes, searches and chooses; if it uses a language model, so do all other stages.
        request: its words, files and tools.
        given: the values of its files, by their names.
        correcting: False runs the plan once, as it is.
        declining: False also runs subtasks that no tool is for.
    """
    staged: Staged = yield from strategy.stages(request)
    execution = _Execution(
        request=request.task.request,
        staged=staged,
        given=given,
        asks=strategy.asks,
        correcting=correcting,
        declining=declining,
    )
    yield from execution.run()
    progress, state = execution.progress, execution.state
    results = results_of(progress=progress, state=state)
    if strategy.asks:
        answers = yield [asking_for_response(request=request.task.request, progress=progress, results=results)]
        assert not isinstance(answers, Ran)
        response = with_all_files(read_response(answers[0]), results=results)
    else:
        response = response_without_model(progress=progress, results=results)
    return Finished(
        staged=staged, progress=tuple(progress), state=state, rounds=tuple(execution.rounds),
        corrections=tuple(execution.corrections), results=results, response=response,
    )  # fmt: skip


@dataclass(slots=True)
class _Execution:
    """Runs and corrections of one request."""

    request: str
    staged: Staged
    given: Sequence[Entry]
    asks: bool
    correcting: bool
    declining: bool
    progress: list[Progress] = field(init=False)
    state: StateMemory = field(init=False)
    rounds: list[tuple[StepRun, ...]] = field(default_factory=list)
    corrections: list[Correction] = field(default_factory=list)
    waiting: dict[int, Correction] = field(default_factory=dict)
    """By subtask, the correction whose outcome the next run shows."""

    def __post_init__(self) -> None:
        self.progress = [Progress.begin(one) for one in self.staged.planned]
        if self.declining and not self.asks:
            names = {entry.reference for entry in self.given}
            for number, why in declined(self.staged, files=names).items():
                self.progress[number].outcome, self.progress[number].why = Outcome.DECLINED, why
        self.state = StateMemory(self.given)

    def run(self) -> Generator[Want, Reply, None]:
        """Run and correct until no correction is left."""
        for number in range(MOST_ROUNDS):
            problems = yield from self._round()
            self._settle(problems)
            if not problems:
                break
            may_change = self.correcting and number < MOST_ROUNDS - 1
            changed = (yield from self._correct(problems)) if may_change else self._give_up(problems)
            if not changed:
                break
        self._close()

    def _round(self) -> Generator[Want, Reply, dict[int, Problem]]:
        checked = self._checked()
        ran = yield Run(plan_without(progress=self.progress, left_out=checked.left_out))
        assert isinstance(ran, Ran)
        self.rounds.append(ran.steps)
        self.state = StateMemory([*self.given, *ran.made])
        return problems_of(progress=self.progress, checked=checked, failures=ran.failures, state=self.state)

    def _checked(self) -> Checked:
        """Look up all arguments; block what depends on a failed subtask, directly or not."""
        while True:
            checked = check(progress=self.progress, given=StateMemory(self.given))
            if not checked.blocked:
                return checked
            for number, lost in checked.blocked.items():
                self.progress[number].outcome = Outcome.BLOCKED
                self.progress[number].why = f"it needs {lost}, which was not made"

    def _settle(self, problems: Mapping[int, Problem]) -> None:
        """Record the outcome of corrections, and which subtasks produced their result."""
        for number, correction in self.waiting.items():
            problem = problems.get(number)
            correction.helped = problem is None and correction.way is not CorrectionKind.BACK
            correction.outcome = "it ran" if problem is None else f"{problem.kind}: {problem.message}"
        self.waiting.clear()
        for number, one in enumerate(self.progress):
            if one.is_active:
                # What waits for another subtask has no problem of its own, and nothing made either.
                made = number not in problems and all(self.state.get(result) for result in one.results)
                one.outcome = Outcome.MADE if made else Outcome.OPEN

    def _correct(self, problems: Mapping[int, Problem]) -> Generator[Want, Reply, bool]:
        """Apply all possible corrections; False if there is nothing to run again."""
        for number, problem in problems.items():
            self.progress[number].undo(action=problem.place.action, problem=str(problem.kind))
        situation = Situation(request=self.request, progress=self.progress, state=self.state)
        open_to_change = {
            number: problem
            for number, problem in problems.items()
            if problem.kind is not Kind.EXPERT and self.progress[number].changes < MOST_CHANGES
        }
        asked = yield from self._asked(open_to_change, situation=situation)
        changes = {
            number: asked.get(number) or correct_offline(problem=problem, situation=situation)
            for number, problem in open_to_change.items()
        }
        for number, problem in problems.items():
            change = changes.get(number)
            if change is None:
                self._next_solution(number, problem=problem)
            else:
                self._apply(number, problem=problem, change=change)
        return True

    def _asked(
        self, problems: Mapping[int, Problem], *, situation: Situation
    ) -> Generator[Want, Reply, dict[int, Change | None]]:
        if not self.asks or not problems:
            return {}
        answers = yield [correcting_call(problem=one, situation=situation) for one in problems.values()]
        assert not isinstance(answers, Ran)
        return {
            number: read_correction(answer=answer, problem=problem, situation=situation)
            for (number, problem), answer in zip(problems.items(), answers, strict=True)
        }

    def _apply(self, number: int, *, problem: Problem, change: Change) -> None:
        one = self.progress[number]
        if problem.kind is Kind.NOTHING and one.fallback is None:
            one.fallback = (one.choice, one.solution)
        old = one.solution[problem.place.action].inputs
        what = ", ".join(f"{name}: {old.get(name)} -> {value}" for name, value in change.inputs.items())
        self._record(number, problem=problem, way=CorrectionKind.ARGUMENTS, what=what, why=change.why, by=change.by)
        one.change(action=problem.place.action, problem=str(problem.kind), inputs=change.inputs)

    def _next_solution(self, number: int, *, problem: Problem) -> None:
        """Go on with the subtask's next solution, or end it."""
        one = self.progress[number]
        if problem.kind is Kind.NOTHING and one.fallback is None:
            one.fallback = (one.choice, one.solution)
        after = one.choice + 1
        if after < len(one.planned.candidates) and not problem.is_result:
            tools = ", ".join(one.planned.candidates[after].path)
            what = f"solution {after + 1}: {tools}"
            self._record(
                number, problem=problem, way=CorrectionKind.SOLUTION, what=what, why="no argument is left to change"
            )
            one.take(after)
        elif one.fallback is not None:
            choice, solution = one.fallback
            if (choice, solution) != (one.choice, one.solution):
                what = f"solution {choice + 1}, as it ran"
                self._record(number, problem=problem, way=CorrectionKind.BACK, what=what, why="nothing else finds more")
            one.take(choice, solution=solution)
            one.content = True
        else:
            self._fail(one, problem=problem)

    def _record(
        self, number: int, *, problem: Problem, way: CorrectionKind, what: str, why: str, by: str = "rules"
    ) -> None:
        one = self.progress[number]
        correction = Correction(
            subtask=one.subtask_id, way=way, tool=one.solution[problem.place.action].tool.name,
            problem=str(problem.kind), message=problem.message, what=what, why=why, by=by,
        )  # fmt: skip
        self.corrections.append(correction)
        self.waiting[number] = correction

    def _give_up(self, problems: Mapping[int, Problem]) -> bool:
        """Without corrections: a list of nothing is a result, everything else a failure."""
        for number, problem in problems.items():
            if problem.kind is Kind.NOTHING:
                self.progress[number].outcome = Outcome.MADE
            else:
                self._fail(self.progress[number], problem=problem)
        return False

    @staticmethod
    def _fail(one: Progress, *, problem: Problem) -> None:
        one.outcome, one.why = Outcome.FAILED, problem.message

    def _close(self) -> None:
        """Mark subtasks that depend on failed ones as blocked, and open ones as failed."""
        self._checked()
        for one in self.progress:
            if one.outcome is Outcome.OPEN:
                one.outcome, one.why = Outcome.FAILED, "there was no run left to correct it"
        self._checked()
