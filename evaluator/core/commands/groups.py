"""Headings under which helps list options that many commands share.

An option with a help panel of its own stays there. Commands with few options have one list.
"""

from collections.abc import Mapping
from types import MappingProxyType

MOST_UNGROUPED = 6
"""Options of a command whose help has a single list."""
_HEADINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Suite and data": (
            "--suite", "--task", "--tasks", "--limit", "--limit-tasks", "--baseline-tasks", "--split", "--data",
            "--inputs", "--sample", "--samples", "--from", "--to", "--german", "--file", "--point", "--box",
        ),
        "Planner": ("--planner", "--model", "--timeout", "--run", "--silence", "--correct", "--against"),
        "Experts": ("--profile", "--device", "--expert-device", "--memory-budget", "--cache"),
        "Arbiter": ("--arbiter", "--arbiter-threshold", "--arbiter-key-env"),
        "Simulated endpoint": ("--requests", "--latency", "--capacity", "--highest", "--retry-after"),
        "Store": ("--store", "--store-limit", "--work"),
        "Runs and seeds": (
            "--reliability", "--runs", "--runs-share", "--deterministic", "--seed", "--seeds", "--draws", "--second",
            "--only",
        ),
        "Training": (
            "--steps", "--plans", "--learning-rate", "--estimator", "--sampling", "--gold", "--lora", "--rank",
            "--arms", "--fine-tuning-steps", "--resume", "--stop-after", "--threads",
        ),
    }
)  # fmt: skip
_BY_OPTION = {option: heading for heading, options in _HEADINGS.items() for option in options}
ORDER = tuple(_HEADINGS)


def heading_of(option: str) -> str:
    """The heading of an option, such as `--suite`; `Options` for others."""
    return _BY_OPTION.get(option, "Options")
