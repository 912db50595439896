"""The paper's comparisons (LUMOS, sections 4.3 and 4.5) on lumos-mini: the modules of each variant, and their data."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DATASET = "lumos-mini-{}"
HELD_OUT = "web"
"""The group that is held out to measure generalisation."""
BASE = "base"
FORMS = (
    "plan_iterative", "ground_iterative", "plan_onetime", "ground_onetime", "integrated", "chain_of_thought", "direct",
)  # fmt: skip
"""The forms that the base is trained on."""
GROUPS = ("maths", "sql", "qa", "web", "pictures")


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A network to train."""

    form: str
    """Form of the training data, a file of `planarena lumos convert` without suffix; `base`: all of them."""
    only: str = ""
    """The only group of its training data; empty for all."""
    without: str = ""
    """The group excluded from its training data, if any."""

    @property
    def name(self) -> str:
        """Name of its folder, without the seed."""
        return self.form + (f"@{self.only}" if self.only else "") + (f"-{self.without}" if self.without else "")

    @property
    def base(self) -> "Module | None":
        """The initial network; None for random weights. A group that is held out is also held out from the base."""
        if self.form != BASE:
            return Module(form=BASE, without=self.without)
        return None if self.without else Module(form=BASE, without=HELD_OUT)

    def folder(self, *, work: Path, seed: int) -> Path:
        """Folder of its network. The modules of all seeds share one base, as LUMOS's all start from LLaMA-2."""
        return work / self.name if self.form == BASE else work / f"seed-{seed}" / self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A planner of the comparison."""

    name: str
    strategy: str
    plan: Module
    ground: Module | None = None
    """Separate module for grounding; None if one network does both."""
    groups: tuple[str, ...] = GROUPS
    """The groups that it is measured on."""

    @property
    def modules(self) -> tuple[Module, ...]:
        """All its networks."""
        return (self.plan,) if self.ground is None else (self.plan, self.ground)


def _of_modules(name: str, *, strategy: str, form: str, groups: tuple[str, ...] = GROUPS, **learnt: str) -> Variant:
    return Variant(
        name=name, strategy=strategy, plan=Module(form=f"plan_{form}", **learnt),
        ground=Module(form=f"ground_{form}", **learnt), groups=groups,
    )  # fmt: skip


_FORMULATIONS = (
    _of_modules("iterative", strategy="lumos/iterative", form="iterative"),
    _of_modules("one-pass", strategy="lumos/onepass", form="onetime"),
    Variant(name="integrated", strategy="lumos/integrated", plan=Module(form="integrated")),
    Variant(name="chain of thought", strategy="lumos/chain-of-thought", plan=Module(form="chain_of_thought")),
    Variant(name="direct", strategy="lumos/direct", plan=Module(form="direct")),
)
_PER_GROUP = tuple(
    _of_modules(f"iterative, {group} only", strategy="lumos/iterative", form="iterative", groups=(group,), only=group)
    for group in GROUPS
)
_HELD_OUT = (
    _of_modules(
        f"iterative, without {HELD_OUT}", strategy="lumos/iterative", form="iterative", without=HELD_OUT
    ),
)  # fmt: skip
_LOW_LEVEL = (
    _of_modules(
        "iterative, qa only, low-level", strategy="lumos/iterative", form="low_level", groups=("qa",), only="qa"
    ),
)  # fmt: skip
"""Each subgoal stands for one action. Only solutions of the groups qa and web have others."""
VARIANTS: Mapping[str, Variant] = {
    variant.name: variant for variant in (*_FORMULATIONS, *_PER_GROUP, *_HELD_OUT, *_LOW_LEVEL)
}
"""By name, in the order of the table."""
_LEARNERS = tuple(module for variant in VARIANTS.values() for module in variant.modules)
_BASES = (Module(form=BASE, without=HELD_OUT), Module(form=BASE))
MODULES: Mapping[str, Module] = {module.name: module for module in (*_BASES, *_LEARNERS)}
"""All networks by name, in the order of training."""
