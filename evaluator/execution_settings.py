"""What the command line says about executing plans, and what follows from it."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evaluator.suites import Suite
from evaluator.suites_cli import usage_error

if TYPE_CHECKING:
    from evaluator.engine.progress import Listener
    from evaluator.engine.store import Store
    from evaluator.evaluation import Evaluator
    from evaluator.experts.profile import Profile
    from evaluator.suites.samples import SampleSource


@dataclass(frozen=True, slots=True)
class ExecutionSettings:
    """Options as they were given; sizes and stores are texts."""

    profile: str
    split: str
    samples: int
    device: str = "cpu"
    data: str = ""
    """Where the papers' data are: `folder:PATH` or `hub[:PATH]`; empty for profiles that bring their own."""
    store: str = ""
    """A folder, or `s3://bucket/prefix`; empty: `store` in the data folder."""
    store_limit: str = ""
    memory_budget: str = ""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything that an evaluation needs. Made without torch."""

    suite: Suite
    profile: "Profile"
    samples: "SampleSource"
    count: int
    store: "Store"
    device: str
    memory_budget: int | None

    def evaluator(self, *, listener: "Listener | None" = None) -> "Evaluator":
        """The evaluator; this loads torch."""
        from evaluator.evaluation import Evaluator

        return Evaluator(
            suite=self.suite, profile=self.profile, samples=self.samples, count=self.count, store=self.store,
            device=self.device, memory_budget=self.memory_budget, listener=listener,
        )  # fmt: skip


def prepare(*, suite: Suite, settings: ExecutionSettings) -> Prepared:
    """Open what the settings name.

    Raises:
        typer.Exit: one of them is wrong; a sentence says which.
    """
    from evaluator.engine.opening import open_store, parse_size
    from evaluator.experts.profile import ProfileError, load_profile
    from evaluator.suites.hidden import suite_on_split
    from evaluator.suites.sources import sample_source

    seed = os.environ.get("PLANARENA_HIDDEN_SEED")
    data = Path(os.environ.get("PLANARENA_DATA", ".data"))
    try:
        profile = load_profile(settings.profile)
        source = sample_source(
            suite=suite.slug,
            profile=settings.profile,
            split=settings.split,
            hidden_seed=seed,
            data=settings.data or None,
        )
        asked = suite_on_split(suite=suite, split=settings.split, hidden_seed=seed)
        limit = parse_size(settings.store_limit) if settings.store_limit else None
        budget = parse_size(settings.memory_budget) if settings.memory_budget else None
        store = open_store(where=settings.store or str(data / "store"), data=data, max_bytes=limit)
    except (LookupError, ValueError, ProfileError) as error:
        raise usage_error(error) from None
    return Prepared(
        suite=asked, profile=profile, samples=source, count=settings.samples, store=store, device=settings.device,
        memory_budget=budget,
    )  # fmt: skip


def selected_tasks(*, suite: Suite, text: str) -> list[str]:
    """Task keys from `0-14,16`; all of them if the text is empty.

    Raises:
        typer.Exit: a key names no task; a sentence says which.
    """
    keys: Sequence[str] = [task.key for task in suite.tasks]
    if not text:
        return list(keys)
    chosen: list[str] = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        for key in (first, last or first):
            if key not in keys:
                raise usage_error(f"--tasks: {suite.slug} has no task {key!r}; its tasks are {keys[0]} to {keys[-1]}")
        chosen += keys[keys.index(first) : keys.index(last or first) + 1]
    return list(dict.fromkeys(chosen))
