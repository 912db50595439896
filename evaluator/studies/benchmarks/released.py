"""The structures of the released codes, as baselines: task by task, with nothing shared or cached.

OpenAGI (`ReleasedStructure`): for each task, load the experts of the plan from their weights, run the samples through
them batch by batch and step by step, score the answers, and drop the experts. Experts, samples and scorers are those of
the profile, so that only the structure differs. Two points favour the baseline: scorers are loaded once for all tasks,
and weights come from the page cache.

ControlLLM (`SequentialStructure`): for each sample, run the steps of a plan one by one, each as a call for one item;
models are loaded on first use and stay loaded. More points favour this baseline: calls are function calls and not HTTP
requests with whole pictures, models are not moved to the device for each call, and all models fit in memory.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from evaluator.core.expert import Expert, SamplingExpert
from evaluator.core.plans.checks import execution_order
from evaluator.core.plans.model import Plan, Step
from evaluator.core.suites.base import Suite, Task
from evaluator.core.suites.samples import SampleSource
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.core.values import Value, encode
from evaluator.execution.engine.jobs import step_seed
from evaluator.execution.engine.progress import Stopwatch
from evaluator.execution.experts.devices import release_memory
from evaluator.execution.experts.profile import Profile, load_expert
from evaluator.scoring.metrics.scorers.base import Scorer, rounded
from evaluator.scoring.metrics.scorers.loading import load_scorer


class ReleasedStructure:
    """Evaluates tasks one by one, as the code of OpenAGI does."""

    def __init__(self, *, suite: Suite, profile: Profile, samples: SampleSource, count: int, device: str) -> None:
        self._suite = suite
        self._profile = profile
        self._samples = samples
        self._count = count
        self._device = device

        self._scorers: dict[str, Scorer] = {}
        self.calls: Counter[str] = Counter()
        """Number of items processed by experts, by tool."""
        self.loads = 0
        self.loading, self.experts, self.scoring = Stopwatch(), Stopwatch(), Stopwatch()

    def score(self, *, task: Task, plan: Plan) -> float:
        """Mean score of a plan."""
        with self.loading.running():
            experts = {tool: load_expert(spec=self._profile.experts[tool], device=self._device)
                       for tool in dict.fromkeys(plan.tools())}  # fmt: skip
        self.loads += len(experts)
        size = min((self._profile.experts[tool].batch_size for tool in experts), default=self._count)
        answers: list[Value] = []
        for start in range(0, self._count, size):
            indices = range(start, min(start + size, self._count))
            answers += self._batch(task=task, plan=plan, experts=experts, indices=indices)
        references = [self._samples.reference(task=task, index=index) for index in range(self._count)]
        del experts
        release_memory(self._device)
        with self.scoring.running():
            scores = self._scores(metric=task.metric, outputs=answers, references=references)
        return sum(scores) / len(scores)

    def _scores(self, *, metric: str, outputs: Sequence[Value], references: Sequence[Value]) -> Sequence[float]:
        if metric not in self._scorers:
            self._scorers[metric] = load_scorer(name=metric, profile=self._profile, device=self._device)
        return rounded(self._scorers[metric].score(outputs=outputs, references=references))

    def _batch(
        self, *, task: Task, plan: Plan, experts: Mapping[str, Expert], indices: Sequence[int]
    ) -> Iterable[Value]:
        """The answers for some samples."""
        inputs = [self._samples.inputs(task=task, index=index) for index in indices]
        values = [{f"${name}": value for name, value in item.items()} for item in inputs]
        for step in execution_order(plan):
            batch = [{name: have.get(value, value) for name, value in step.inputs.items()} for have in values]
            with self.experts.running():
                outputs = self._call(step=step, expert=experts[step.tool], batch=batch, indices=indices)
            self.calls[step.tool] += len(batch)
            for have, output in zip(values, outputs, strict=True):
                have.update({reference: output[name] for name, reference in step.outputs.items()})
        return [have[plan.answers[0]] for have in values]

    def _call(
        self, *, step: Step, expert: Expert, batch: Sequence[Mapping[str, Value]], indices: Sequence[int]
    ) -> list[Mapping[str, Value]]:
        spec = self._profile.experts[step.tool]
        if not spec.samples:
            return expert.run(batch)
        seeds = [
            step_seed(
                spec=spec,
                inputs={name: encode(value).digest for name, value in item.items()},
                salt=self._suite.slug,
                sample=index,
            )
            for item, index in zip(batch, indices, strict=True)
        ]
        return cast(SamplingExpert, expert).run_seeded(batch=batch, seeds=[seed or 0 for seed in seeds])


class SequentialStructure(ReleasedStructure):
    """Evaluates tasks one by one, and their steps call by call, as the code of ControlLLM does."""

    def __init__(self, *, suite: Suite, profile: Profile, samples: SampleSource, count: int, device: str) -> None:
        super().__init__(suite=suite, profile=profile, samples=samples, count=count, device=device)
        self._loaded: dict[str, Expert] = {}

    def score(self, *, task: Task, plan: Plan) -> float:
        """Mean score of a plan over samples and answers."""
        rows = [self._answers(task=task, plan=plan, index=index) for index in range(self._count)]
        scores: list[float] = []
        with self.scoring.running():
            for number, part in enumerate(task.answers):
                references = [self._samples.reference(task=part, index=index) for index in range(self._count)]
                outputs = [row[number] for row in rows]
                scores += self._scores(metric=part.metric, outputs=outputs, references=references)
        return sum(scores) / len(scores)

    def _answers(self, *, task: Task, plan: Plan, index: int) -> list[Value]:
        """The answers for one sample."""
        files = self._samples.inputs(task=task, index=index)
        have = {key: value for name, value in files.items() for key in (f"${name}", name)}
        for step in execution_order(plan):
            item = {name: have.get(value, value) for name, value in step.inputs.items()}
            if step.tool not in self._loaded:
                with self.loading.running():
                    self._loaded[step.tool] = load_expert(spec=self._profile.experts[step.tool], device=self._device)
                self.loads += 1
            expert = self._loaded[step.tool]
            with self.experts.running():
                (output,) = self._call(step=step, expert=expert, batch=[item], indices=[index])
            self.calls[step.tool] += 1
            have.update({reference: output[name] for name, reference in step.outputs.items()})
        return [have[answer] for answer in plan.answers]


def released_structure(
    *, suite: Suite, profile: Profile, samples: SampleSource, count: int, device: str
) -> ReleasedStructure:
    """The structure of the code released with the tools of a suite."""
    structure = SequentialStructure if suite.catalogue.name == CONTROLLLM.name else ReleasedStructure
    return structure(suite=suite, profile=profile, samples=samples, count=count, device=device)
