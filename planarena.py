"""PlanArena's name in other harnesses: `planarena/SUITE` in Inspect, the taskset and harness `planarena` in verifiers.

Inspect names tasks after the top-level module that defines them, and verifiers imports a module of the taskset's name.
"""

from typing import Any

__all__ = ["PlanArenaEnv", "PlanArenaHarness", "PlanArenaTaskset"]  # noqa: F822 - made below


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'planarena' has no attribute {name!r}")
    # Imported when verifiers asks for it: where Inspect is installed, verifiers need not be.
    from evaluator.interop.harnesses import verifiers_taskset

    return getattr(verifiers_taskset, name)
