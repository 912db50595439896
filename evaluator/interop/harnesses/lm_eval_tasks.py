"""The judged suites as tasks of lm-evaluation-harness. It finds tasks in folders: `planarena suites lm-eval`.

A model gets one text and answers with one text, so only suites of whole plans that are judged are tasks.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from datasets import Dataset
from lm_eval.api.task import ConfigurableTask

from evaluator.core.canonical_json import JsonValue
from evaluator.core.records import Outcome
from evaluator.interop.harnesses.hosted_suite import HostedOptions, HostedSuite, hosted_suite, means_of

_TOKENS = 1024
_ENDS = ("", ".low", ".high")


class PlanArenaTask(ConfigurableTask):
    """A judged suite. Its metrics are the columns of the suite's board, with the ends of their 95 % intervals."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Args:
        config: `task`, its name, and `suite`, the slug.
        """
        hosted = hosted_suite(HostedOptions(suite=config["suite"]))
        columns = sorted(hosted.suite.metrics, key=lambda column: not column.primary)
        names = {f"{column.key}{end}": column.higher_is_better for column in columns for end in _ENDS}
        super().__init__(
            config={
                "task": config["task"],
                "custom_dataset": _documents(hosted),
                "test_split": "test",
                "output_type": "generate_until",
                "doc_to_text": "{{text}}",
                "doc_to_target": "",
                "generation_kwargs": {"until": [], "max_gen_toks": _TOKENS, "do_sample": False},
                "process_results": _judged(hosted, names=list(names)),
                "metric_list": [
                    {"metric": name, "aggregation": _column(name), "higher_is_better": is_better}
                    for name, is_better in names.items()
                ],
                "metadata": {"version": hosted.suite.digest},
            }
        )


# Functions and no methods: the harness copies configurations deeply, and functions are copied as they are.
def _documents(hosted: HostedSuite) -> Callable[..., dict[str, Dataset]]:
    def documents(**_: object) -> dict[str, Dataset]:
        """A row for each task: its key, and the prompt as one text."""
        rows = [
            {
                "task": task.asked_as or task.key,
                "text": "\n\n".join(message.content for message in hosted.prompt(task, native=False).messages),
            }
            for task in hosted.tasks
        ]
        return {"test": Dataset.from_list(rows)}

    return documents


def _judged(hosted: HostedSuite, *, names: Sequence[str]) -> Callable[..., dict[str, dict[str, JsonValue]]]:
    def judged(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, dict[str, JsonValue]]:
        """The facts of the record, under the name of each metric; empty if there is no score."""
        record = hosted.record_of_plan(task=doc["task"], said=(results[0], ()))
        if record.outcome not in (Outcome.SCORED, Outcome.PLANNER_FAULT):
            return {}
        return dict.fromkeys(names, hosted.facts(record))

    return judged


def _column(name: str) -> Callable[[Sequence[Mapping[str, Any]]], float]:
    def mean(facts: Sequence[Mapping[str, Any]]) -> float:
        return means_of(facts).get(name, float("nan"))

    return mean
