"""Runs the comparison of estimators for a registered study (`evaluator.studies.registered`).

An arm of the study is `start`, the fine-tuned planner, or an estimator, the planner after task feedback.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from evaluator.core import canonical_json
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.options import ExecutionSettings, prepare
from evaluator.execution.experts.weights import weights_digest
from evaluator.openagi.training.episodes import Sampling
from evaluator.openagi.training.estimator_study import START, Arm, EstimatorStudy, Start, run_arm
from evaluator.openagi.training.reinforce import Estimator
from evaluator.openagi.training.rltf import Schedule
from evaluator.training.export import base_model
from evaluator.training.runs import ChoiceError

Setting = str | int | float | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the runner, in the plan of a study."""

    suite: str
    profile: str
    model: str
    """The pretrained planner: a shipped one, or a folder."""
    half: int
    """The half of the suite that is trained on, 0 or 1."""
    steps: int
    """Steps of task feedback."""
    plans: int
    """Plans for each task in a step."""
    learning_rate: float
    sampling: str
    reward_samples: int
    """Data points of a reward."""
    test_samples: int
    """Data points of a held-out score."""

    @classmethod
    def of(cls, values: Mapping[str, Setting]) -> "Settings":
        """From the plan of a study.

        Raises:
            ChoiceError: a setting is missing, unknown, or has another type.
        """
        types = {"half": int, "steps": int, "plans": int, "reward_samples": int, "test_samples": int}
        types |= {"suite": str, "profile": str, "model": str, "sampling": str}  # type: ignore[dict-item]
        if values.keys() != {*types, "learning_rate"}:
            odd = sorted(values.keys() ^ {*types, "learning_rate"})[0]
            raise ChoiceError(f"the settings of the runner: {odd} is missing, or is none of them")
        if wrong := [name for name, kind in types.items() if type(values[name]) is not kind]:
            raise ChoiceError(f"the settings of the runner: {wrong[0]} has another type")
        if values["half"] not in {0, 1} or values["sampling"] not in {*Sampling}:
            raise ChoiceError(f"the settings of the runner: half is 0 or 1, sampling one of {', '.join(Sampling)}")
        return cls(**values)  # type: ignore[arg-type]


@dataclass(frozen=True)
class TaskFeedbackRunner:
    """Fine-tunes a planner, continues with task feedback, and tests both on held-out tasks."""

    settings: Settings
    work: Path
    """Folder of planners and checkpoints; interrupted runs continue from it."""
    store: str = ""
    """Store of artefacts, kept between runs."""

    @cached_property
    def _study(self) -> EstimatorStudy:
        settings = self.settings
        suite = suite_of(settings.suite)
        training = ExecutionSettings(
            profile=settings.profile, split="validation", samples=settings.reward_samples, store=self.store
        )
        testing = replace(training, split="public", samples=settings.test_samples)
        return EstimatorStudy(
            model=base_model(settings.model).folder, work=self.work / "planners", half=settings.half,
            training=prepare(suite=suite, settings=training).evaluator(),
            testing=prepare(suite=suite, settings=testing).evaluator(),
            data={"profile": settings.profile, "split": "validation", "samples": settings.reward_samples, "data": ""},
            schedule=Schedule(
                steps=settings.steps, samples=settings.plans, learning_rate=settings.learning_rate,
                sampling=Sampling(settings.sampling), checkpoint_every=1,
            ),
        )  # fmt: skip

    def tasks(self) -> Mapping[str, str]:
        """The held-out tasks with their metrics."""
        suite = self._study.testing.suite
        return {key: str(suite.task(key).metric) for key in self._study.held_out}

    @cached_property
    def _data(self) -> dict[str, str]:
        study = self._study
        evaluators = {"rewards": study.training, "test": study.testing}
        digests = {f"samples, {name}": canonical_json.digest(one.facts()["data"]) for name, one in evaluators.items()}
        return {
            **digests,
            "suite": study.testing.suite.digest,
            "experts": study.testing.profile.digest,
            "pretrained planner": weights_digest(study.model),
        }

    def data(self) -> Mapping[str, str]:
        """Digests of suite, experts, samples and pretrained planner."""
        return self._data

    def run(self, *, arm: str, seed: int, say: Callable[[str], None]) -> Mapping[str, float]:
        """The score of each held-out task.

        Raises:
            ChoiceError: there is no such arm.
            RuntimeError: a task could not be measured, due to failures of the infrastructure.
        """
        if arm not in {START, *Estimator}:
            raise ChoiceError(f"there is no arm {arm}; there are: {', '.join([START, *Estimator])}")
        return run_arm(study=self._study, seed=seed, arm=Arm(start=Start.FINE_TUNED, estimator=arm), say=say)
