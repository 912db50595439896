"""Where the networks of this package lie that come with PlanArena. No torch here."""

from pathlib import Path

DECOMPOSER = "controlllm-decomposer"
SCORER = "controlllm-scorer"
WEIGHTS = Path(__file__).parent / "weights"


def shipped_folder(name: str) -> Path:
    """The folder of a shipped network."""
    return WEIGHTS / name
