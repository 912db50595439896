"""The paper's comparison with one network: single views and all of them, with and without feedback."""

from collections.abc import Mapping
from dataclasses import dataclass

from evaluator.arc.strategies.options import Options
from evaluator.arc.strategies.styles import COMPACT

VIEWS = tuple(agent.name for agent in COMPACT.agents)
SAMPLES, LOOPS = Options().samples, Options().loops
MULTI = "all views"
WITHOUT = ", without feedback"
AS_MANY = ", as many samples"
NO_FEEDBACK_MANY = ", without feedback, as many replies"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A planner of the comparison."""

    name: str
    strategy: str
    """Its name, without the model's."""
    replies: int
    """That it asks for at most."""


def _single(view: str, *, ending: str = "", samples: int = SAMPLES, loops: int = LOOPS) -> Variant:
    options = f"style={COMPACT.name};samples={samples};loops={loops}"
    return Variant(name=view + ending, strategy=f"arc-single:{view};{options}", replies=samples * loops)


def _multi(*, ending: str = "", samples: int = SAMPLES, loops: int = LOOPS) -> Variant:
    options = f"style={COMPACT.name};samples={samples};loops={loops}"
    return Variant(
        name=MULTI + ending, strategy=f"arc-experts@{options}", replies=len(VIEWS) * samples * loops
    )  # fmt: skip


VARIANTS: Mapping[str, Variant] = {
    variant.name: variant
    for variant in (
        _multi(), _multi(ending=WITHOUT, loops=1), _multi(ending=NO_FEEDBACK_MANY, samples=SAMPLES * LOOPS, loops=1),
        *(_single(view) for view in VIEWS),
        *(_single(view, ending=WITHOUT, loops=1) for view in VIEWS),
        *(_single(view, ending=AS_MANY, samples=SAMPLES * len(VIEWS)) for view in VIEWS),
    )
}  # fmt: skip
"""By name, in the order of the table."""
