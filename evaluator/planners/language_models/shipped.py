"""Where the planners lie that come with PlanArena. No torch here."""

from pathlib import Path

NAME = "lilliput-planner"
VARIANTS = ("pretrained", "finetuned", "rltf")
"""The first is what the bare name means."""
FOLDER = Path(__file__).parents[2] / "world" / "weights" / NAME


def shipped_names() -> tuple[str, ...]:
    """All names under which a shipped planner can be asked for."""
    return (NAME, *(f"{NAME}/{variant}" for variant in VARIANTS))


def shipped_folder(name: str) -> Path:
    """The folder of `lilliput-planner` or `lilliput-planner/VARIANT`.

    Raises:
        LookupError: there is no such planner; the message says which there are.
    """
    if name not in shipped_names():
        raise LookupError(f"there is no planner {name!r}; there are: {', '.join(shipped_names())}")
    return FOLDER / (name.partition("/")[2] or VARIANTS[0])
