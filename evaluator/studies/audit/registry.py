"""The classes of flaws, with the attacks of the papers."""

import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib import import_module

from evaluator.core.suites.registry import paper_entries
from evaluator.planners.attacks.base import Attack, Flaw


@cache
def flaws() -> tuple[Flaw, ...]:
    """The classes of flaws in alphabetical order, each with the attacks of the papers."""
    folder = import_module("evaluator.studies.audit.classes")
    found: list[Flaw] = [
        import_module(f"{folder.__name__}.{module.name}").FLAW for module in pkgutil.iter_modules(folder.__path__)
    ]
    own = list(_of_papers())
    names = {flaw.name for flaw in found}
    if unknown := sorted({name for name, _ in own} - names):
        raise LookupError(f"there is no class of flaws {unknown[0]!r}; there are: {', '.join(sorted(names))}")
    return tuple(
        Flaw(
            name=flaw.name, title=flaw.title, description=flaw.description,
            attacks=(*flaw.attacks, *(attack for name, attack in own if name == flaw.name)),
        )
        for flaw in found
    )  # fmt: skip


def _of_papers() -> Iterator[tuple[str, Attack]]:
    """The name of the class and the attack, for each attack of the papers."""
    for entry in paper_entries():
        if name := getattr(entry, "ATTACKS", ""):
            yield from import_module(name).ATTACKS
