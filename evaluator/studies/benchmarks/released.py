"""The structures of the released codes, as baselines: task by task, nothing shared and nothing kept.

OpenAGI's (`ReleasedStructure`): for each task the experts of its plan are made from their weights, the samples go
through them batch by batch and step after step, the answers are scored, and the experts are dropped. Experts, samples
and scorers are those of the profile, so that only the structure differs. Two things favour the baseline: scorers are
loaded once for all tasks, and weights come from the page cache.

ControlLLM's (`SequentialStructure`): for each sample the steps of a plan run one after the other, each as a call for
one item; models are loaded when they are first called, and stay loaded. This baseline is favoured more: calls are
function calls and no HTTP requests with whole pictures, no model is moved to its device again for each call, and all
models fit into memory.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
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
    """Evaluates tasks one after the other."""

    def __init__(self, *, suite: Suite, profile: Profile, samples: SampleSource, count: int, device: str) -> None:
        self._suite = suite
        self._profile = profile
        self._samples = samples
        self._count = count
        self._device = device
        self._make_scorer = partial(load_scorer, profile=profile, device=device)
        self._scorers: dict[str, Scorer] = {}
        self.calls: Counter[str] = Counter()
        """Items that experts worked on, by tool."""
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
            if task.metric not in self._scorers:
                self._scorers[task.metric] = self._make_scorer(name=task.metric)
            scores = rounded(self._scorers[task.metric].score(outputs=answers, references=references))
        return sum(scores) / len(scores)

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
    """Evaluates tasks one after the other, and their steps one call after the other."""

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
                if part.metric not in self._scorers:
                    self._scorers[part.metric] = self._make_scorer(name=part.metric)
                outputs = [row[number] for row in rows]
                scores += rounded(self._scorers[part.metric].score(outputs=outputs, references=references))
        return sum(scores) / len(scores)

    def _answers(self, *, task: Task, plan: Plan, index: int) -> list[Value]:
        """The answers for one sample."""
        files = self._samples.inputs(task=task, index=index)
        have = {key: value for name, value in files.items() for key in (f"${name}", name)}
        for step in execution_order(plan):
            item = {name: have.get(value, value) for name, value in step.inputs.items()}
            expert = self._expert(step.tool)
            with self.experts.running():
                (output,) = self._call(step=step, expert=expert, batch=[item], indices=[index])
            self.calls[step.tool] += 1
            have.update({reference: output[name] for name, reference in step.outputs.items()})
        return [have[answer] for answer in plan.answers]

    def _expert(self, tool: str) -> Expert:
        if tool not in self._loaded:
            with self.loading.running():
                self._loaded[tool] = load_expert(spec=self._profile.experts[tool], device=self._device)
            self.loads += 1
        return self._loaded[tool]


def released_structure(
    *, suite: Suite, profile: Profile, samples: SampleSource, count: int, device: str
) -> ReleasedStructure:
    """The structure of the code that was released with the tools of a suite."""
    structure = SequentialStructure if suite.catalogue.name == CONTROLLLM.name else ReleasedStructure
    return structure(suite=suite, profile=profile, samples=samples, count=count, device=device)
