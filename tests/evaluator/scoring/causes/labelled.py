"""The failures of `labelled.toml` as records of their suites."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluator.core.plans_file import GivenPlan, GivenPlans
from evaluator.core.records import Outcome, Reason, ResultRecord
from evaluator.core.suites.base import Suite
from evaluator.core.suites.registry import suite_of
from evaluator.core.transcripts import Transcript
from evaluator.episodes.base import episode_of
from evaluator.episodes.judgement import with_judgement
from evaluator.episodes.parts import Planned, faulty, new_record, plan_all, without_invalid
from evaluator.scoring.causes.of_records import CauseContext, causes_of
from evaluator.scoring.causes.taxonomy import Finding

FILE = Path(__file__).parent / "labelled.toml"
_SCORE = 0.3
"""Of an executed plan, where the file says none."""


@dataclass(frozen=True)
class Case:
    """A failure with its labels."""

    name: str
    labels: tuple[str, ...]
    record: ResultRecord
    suite: Suite

    def findings(self) -> tuple[Finding, ...]:
        return causes_of(self.record, context=CauseContext(suite=self.suite))


def cases() -> Iterator[Case]:
    """All labelled failures."""
    makers = {
        "plans": _of_plan,
        "held_out_plans": _of_plan,
        "received": _of_received,
        "faults": _of_fault,
        "episodes": _of_episode,
    }
    for kind, listed in tomllib.loads(FILE.read_text(encoding="utf-8")).items():
        for number, given in enumerate(listed):
            suite = suite_of(given.get("suite", "openagi"))
            task = given.get("task", suite.tasks[0].key)
            record = makers[kind](suite, task, given)
            yield Case(f"{kind} {number}: {suite.slug} {task}", tuple(given["labels"]), record, suite)


def plan_of(suite: Suite, task: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The plan of a `chain` or `steps` in the canonical form."""
    made: dict[str, str] = {}
    steps = []
    for number, (tool, inputs) in enumerate(_calls(suite, task, given), start=1):
        known = suite.catalogue.tools.get(tool)
        outputs = {name: f"s{number}.{name}" for name in (known.outputs if known else ("result",))}
        made[f"s{number}"] = next(iter(outputs.values()))
        steps.append({"id": f"s{number}", "tool": tool, "inputs": inputs, "outputs": outputs})
    for step in steps:
        step["inputs"] = {name: made.get(value, value) for name, value in step["inputs"].items()}
    answers = given.get("answers", [f"s{len(steps)}"] if steps else [])
    return {"steps": steps, "answers": [made.get(answer, answer) for answer in answers]}


def _calls(suite: Suite, task: str, given: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, str]]]:
    before = f"${next(iter(suite.task(task).resources), '')}"
    for number, tool in enumerate(given.get("chain", ()), start=1):
        yield tool, {next(iter(suite.catalogue[tool].inputs)): before}
        before = f"s{number}"
    for call in given.get("steps", ()):
        tool, *arguments = call.split(" | ")
        yield tool, dict(argument.split("=", 1) for argument in arguments)


def _of_plan(suite: Suite, task: str, given: Mapping[str, Any]) -> ResultRecord:
    return _recorded(suite, task, plan_of(suite, task, given), score=given.get("score", _SCORE))


def _of_received(suite: Suite, task: str, given: Mapping[str, Any]) -> ResultRecord:
    return _recorded(suite, task, given["text"], score=_SCORE)


def _recorded(suite: Suite, task: str, received: Any, *, score: float) -> ResultRecord:
    """As the suite's episode would record it; a plan that would be executed is taken to have reached the score."""
    planner, episode = GivenPlans({task: GivenPlan(received)}, name="labelled"), episode_of(suite.slug)
    asked = [suite.task(task)]
    (item,) = plan_all(
        planner=planner, suite=suite, tasks=asked,
        context=lambda one: suite.context(task=one, offered=frozenset(suite.catalogue.tools)),
    )  # fmt: skip
    judge = getattr(episode, "judge", None)
    if episode.executes:
        item = without_invalid(item)
    if isinstance(item, ResultRecord):
        return item
    if judge is None:
        return item.record.model_copy(update={"outcome": Outcome.SCORED, "score": score})
    return _judged(item, suite=suite, judge=judge, score=score if episode.executes else None)


def _judged(item: Planned, *, suite: Suite, judge: Any, score: float | None) -> ResultRecord:
    judgement = judge(suite=suite, planned=item)
    record = with_judgement(item, judgement=judgement).record
    if score is None:
        return record.model_copy(update={"outcome": Outcome.SCORED, "score": judgement.score})
    indicators = {**record.indicators, "relative": score}
    return record.model_copy(update={"outcome": Outcome.SCORED, "score": score, "indicators": indicators})


def _of_fault(suite: Suite, task: str, given: Mapping[str, Any]) -> ResultRecord:
    record = faulty(
        new_record(suite=suite, task=suite.task(task)), reason=Reason(given["reason"]), message=given["text"]
    )
    return record.model_copy(update={"outcome": Outcome(given["outcome"])})


def _of_episode(suite: Suite, task: str, given: Mapping[str, Any]) -> ResultRecord:
    indicators = given.get("indicators", {})
    transcript = Transcript.model_validate(
        {
            "sample": 0, "formulation": "integrated", "stop": given["stop"], "answer": given["answer"] or None,
            "turns": list(_turns(given["turns"])), "expected": given["expected"], "score": 0.0,
            "indicators": indicators,
        }
    )  # fmt: skip
    record = new_record(suite=suite, task=suite.task(task))
    plan = plan_of(suite, task, given) if "chain" in given or "steps" in given else None
    update = {
        "outcome": Outcome.SCORED, "score": 0.0, "transcripts": [transcript], "indicators": indicators, "plan": plan,
    }  # fmt: skip
    return record.model_copy(update=update)


def _turns(listed: list[list[str]]) -> Iterator[dict[str, Any]]:
    made = 0
    for turn in listed:
        actions: list[dict[str, Any]] = []
        error = ""
        for text in turn:
            if text.startswith("?"):
                error = text[1:]
                continue
            call, result = text.rsplit(" -> ", 1)
            tool, arguments = call.split(" | ", 1)
            action: dict[str, Any] = {"tool": tool, "arguments": arguments}
            if result.startswith("!"):
                problem, action["error"] = result[1:].split(": ", 1)
                action["problem"] = problem
            else:
                made += 1
                action["outputs"] = {f"R{made}": result}
            actions.append(action)
        yield {"received": ["{}"], "actions": actions, "error": error}
