"""The requests and samples of hidden data, regenerated from their published seed. Needs the extra `plans`."""

from typing import NamedTuple

from evaluator.core.records import ArtefactReference, ResultRecord, SampleResult
from evaluator.core.signatures.statements import SnapshotStatement
from evaluator.core.suites.base import Suite, Task
from evaluator.core.suites.hidden import HIDDEN, HiddenSeed
from evaluator.core.suites.registry import suite_with_digest, whole_plans_of
from evaluator.core.suites.samples import SampleSource
from evaluator.core.values import Value, encode
from evaluator.episodes.base import Setting, SettingError, episode_of
from evaluator.episodes.executed import ExecutedPlans


class OtherSuiteError(Exception):
    """This PlanArena cannot regenerate the data; the message is the end of a sentence."""


class Regenerated(NamedTuple):
    """The requests and samples of hidden data."""

    suite: Suite
    source: SampleSource | None
    """None where plans are judged."""

    def differences(self, record: ResultRecord) -> list[tuple[str, str, str]]:
        """Differences from the regenerated data, as (name, expected, actual)."""
        task = self.suite.task(record.task)
        found = [] if record.request == task.text else [("request", task.text, record.request)]
        if self.source is not None:
            for sample in record.samples:
                found += self._of_sample(sample=sample, task=task, source=self.source)
        return found

    def _of_sample(self, *, sample: SampleResult, task: Task, source: SampleSource) -> list[tuple[str, str, str]]:
        pairs: list[tuple[str, Value, ArtefactReference | None]] = [
            (f"input {name!r}", value, sample.inputs.get(name))
            for name, value in source.inputs(task=task, index=sample.index).items()
        ]
        references = [sample.reference, *(further.reference for further in sample.further)]
        for answer, given in zip(task.answers, references, strict=False):
            pairs.append(("reference", source.reference(task=answer, index=sample.index), given))
        made = [(what, encode(value).digest, given.digest if given else "none") for what, value, given in pairs]
        return [(f"{what} of sample {sample.index}", wanted, is_) for what, wanted, is_ in made if wanted != is_]


def made_again(*, statement: SnapshotStatement, seed: HiddenSeed) -> tuple[Regenerated, str]:
    """The requests and samples of a snapshot's hidden data, and the digest of these.

    Raises:
        OtherSuiteError: they cannot be made here.
    """
    conditions, slug = statement.conditions, statement.suite.slug
    setting = Setting(profile=conditions.profile, split=HIDDEN, hidden=seed)
    try:
        suite, episode = suite_with_digest(slug, statement.suite.digest), episode_of(slug)
        # A step-by-step form has the samples of its suite of whole plans.
        plans = episode_of(whole_plans_of(slug) or slug)
        source = plans.samples(setting) if isinstance(plans, ExecutedPlans) else None
        asked = setting.suite_asked(suite)
        return Regenerated(suite=asked, source=source), episode.data_digest(suite=suite, setting=setting)
    except (LookupError, SettingError, ValueError) as error:
        raise OtherSuiteError(str(error)) from error
