"""Imaginary annotators: people who write plans for requests, each in their own way and none too carefully.

A planner that is pretrained on what many of them wrote knows what words like "grainy" have to do with and what a plan
looks like. It does not know which order of the restoring tools is right (each annotator has an order of their own, all
equally likely), nor how careful to be (annotators leave out tools that are needed and add some that are not). A few
plans of one annotator tell which order and how much care are in demand: that is what demonstrations, fine-tuning and
task feedback have to add.
"""

from dataclasses import dataclass

import numpy as np

from evaluator.openagi.training.corpus.sampled_requests import READERS, RESTORERS, REWRITERS, SampledRequest

CARELESS = 0.6
"""The most careless annotator leaves out needed tools this often; the others less, evenly spread."""
SUPERFLUOUS = 0.3
"""The same for tools that are not needed."""
CONFUSED = 0.3
"""The same for taking a tool of the same types for the one that makes the answer."""
SCATTERED = 0.3
"""How often the order of the restoring tools is not even the annotator's own."""


@dataclass(frozen=True, slots=True)
class Annotator:
    """How somebody writes plans."""

    order: tuple[str, ...]
    """All restoring tools in the order in which they use them."""
    leaves_out: float
    adds: float
    confuses: float
    texts_first: bool
    """Whether they repair texts before images."""


def draw_annotator(rng: np.random.Generator) -> Annotator:
    """An annotator of a random kind."""
    return Annotator(
        order=tuple(str(name) for name in rng.permutation(RESTORERS)),
        leaves_out=float(rng.uniform(0, CARELESS)),
        adds=float(rng.uniform(0, SUPERFLUOUS)),
        confuses=float(rng.uniform(0, CONFUSED)),
        texts_first=bool(rng.random() < 0.5),
    )


@dataclass(frozen=True, slots=True)
class WrittenPlan:
    """A plan as one branch per input and the names behind them, as `strategies.openagi.teaching.as_tree` has it."""

    branches: tuple[tuple[str, ...], ...]
    """In the order of the inputs. With one input everything is in its branch."""
    names: tuple[str, ...] = ()
    texts_first: bool = False
    """Whether the branches of texts were written before those of images, where all stands in one list."""


def annotate(*, sampled: SampledRequest, annotator: Annotator, rng: np.random.Generator) -> WrittenPlan:
    """The plan that an annotator writes: its types agree, no branch has a name twice, and it is never empty."""
    image = [_image_repairs(sampled, annotator, rng)] if sampled.resources[0] == "image" else []
    texts = [_text_repairs(masked, annotator, rng) for masked in sampled.masked]
    names = [] if sampled.base is None else [_base(sampled.base, annotator, rng)]
    makes_text = sampled.kind not in ("restore", "draw")
    if makes_text and _says(sampled.german, annotator, rng):
        names.append("Machine Translation")
    branches = (*image, *texts)
    if len(branches) > 1:
        return WrittenPlan(branches=branches, names=tuple(names), texts_first=annotator.texts_first)
    return WrittenPlan(branches=((*branches[0], *names) or _fallback(sampled, rng),))


def _image_repairs(sampled: SampledRequest, annotator: Annotator, rng: np.random.Generator) -> tuple[str, ...]:
    chosen = [name for name in annotator.order if _says(name in sampled.restorers, annotator, rng)]
    scattered = rng.random() < SCATTERED
    return tuple(str(name) for name in rng.permutation(chosen)) if scattered else tuple(chosen)


def _text_repairs(masked: bool, annotator: Annotator, rng: np.random.Generator) -> tuple[str, ...]:
    return ("Fill Mask",) if _says(masked, annotator, rng) else ()


def _base(right: str, annotator: Annotator, rng: np.random.Generator) -> str:
    alike = next((group for group in (READERS, REWRITERS) if right in group), ())
    if alike and rng.random() < annotator.confuses:
        return alike[int(rng.integers(len(alike)))]
    return right


def _says(needed: bool, annotator: Annotator, rng: np.random.Generator) -> bool:
    """Whether a tool gets into the plan."""
    return bool(rng.random() < (1 - annotator.leaves_out if needed else annotator.adds))


def _fallback(sampled: SampledRequest, rng: np.random.Generator) -> tuple[str, ...]:
    """Where everything was left out: one tool that is needed."""
    needed = sampled.restorers or (("Fill Mask",) if any(sampled.masked) else ("Machine Translation",))
    return (needed[int(rng.integers(len(needed)))],)
