"""Options of commands that execute plans, and task selection."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evaluator.core.commands.usage import usage_error
from evaluator.core.suites.base import Suite
from evaluator.core.suites.hidden import HIDDEN, HiddenSeed, SeedError, checked_seed
from evaluator.episodes.base import Setting, SettingError, episode_of
from evaluator.scoring.arbiters.options import DEFAULT_KEY_ENV, DEFAULT_THRESHOLD, arbiter_named, key_in

if TYPE_CHECKING:
    from evaluator.episodes.executed import Prepared
    from evaluator.execution.engine.progress import Listener


@dataclass(frozen=True, slots=True)
class ExecutionSettings:
    """The unparsed options: sizes and stores are texts."""

    profile: str
    split: str
    samples: int
    device: str = "cpu"
    data: str = ""
    """Location of the papers' data: `folder:PATH` or `hub[:PATH]`; empty for profiles that have their own data."""
    inputs: str = ""
    """Folder with the files named by requests; empty: from the environment."""
    store: str = ""
    """A folder, or `s3://bucket/prefix`; empty: `store` in the data folder."""
    store_limit: str = ""
    memory_budget: str = ""
    arbiter: str = ""
    """In the format of `evaluator.scoring.arbiters.base`; empty: none."""
    arbiter_threshold: float = DEFAULT_THRESHOLD
    arbiter_key_env: str = DEFAULT_KEY_ENV
    """Environment variable with the arbiter's API key."""


def setting_of(settings: ExecutionSettings, *, listener: "Listener | None" = None) -> Setting:
    """Parse the settings. The store is opened on first use.

    Raises:
        typer.Exit: a setting is invalid; standard error names it.
    """
    from evaluator.execution.engine.opening import open_store, parse_size

    data = Path(os.environ.get("PLANARENA_DATA", ".data"))
    try:
        limit = parse_size(settings.store_limit) if settings.store_limit else None
        budget = parse_size(settings.memory_budget) if settings.memory_budget else None
    except ValueError as error:
        raise usage_error(error) from None
    return Setting(
        profile=settings.profile,
        split=settings.split,
        hidden=_hidden_seed(settings.split),
        data=settings.data or None,
        inputs=settings.inputs or None,
        samples=settings.samples,
        open_store=lambda: open_store(where=settings.store or str(data / "store"), data=data, max_bytes=limit),
        device=settings.device,
        memory_budget=budget,
        listener=listener,
        arbiter=arbiter_named(settings.arbiter, threshold=settings.arbiter_threshold),
        arbiter_key=key_in(settings.arbiter_key_env),
    )


def _hidden_seed(split: str) -> HiddenSeed | None:
    seed = os.environ.get("PLANARENA_HIDDEN_SEED")
    if split != HIDDEN or not seed:
        return None
    try:
        return HiddenSeed(checked_seed(seed, what="PLANARENA_HIDDEN_SEED"))
    except SeedError as error:
        raise usage_error(error) from None


def prepare(*, suite: Suite, settings: ExecutionSettings) -> "Prepared":
    """Open profile, data and store for a suite whose plans are executed.

    Raises:
        typer.Exit: the suite executes no plans, or a setting is invalid; standard error gives the reason.
    """
    from evaluator.episodes.executed import ExecutedPlans

    episode = episode_of(suite.slug)
    if not isinstance(episode, ExecutedPlans):
        how = "asks for plans step by step" if episode.in_turns else "judges plans without executing them"
        raise usage_error(f"{suite.slug} {how}; this command needs a suite that executes whole plans")
    try:
        return episode.prepared(suite=suite, setting=setting_of(settings))
    except SettingError as error:
        raise usage_error(error) from None


def selected_tasks(*, suite: Suite, text: str) -> list[str]:
    """Task keys from a text such as `0-14,16`; all tasks if it is empty.

    Raises:
        typer.Exit: there is no task with a key; standard error names it.
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
