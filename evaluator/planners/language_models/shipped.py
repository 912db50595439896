"""Folders of the language models that come with PlanArena. Imports no torch."""

from pathlib import Path

NAME = "lilliput-planner"
VARIANTS = ("pretrained", "finetuned", "rltf")
"""The bare name stands for the first."""
FOLDER = Path(__file__).parents[2] / "miniature" / "weights" / NAME
LUMOS = "lilliput-lumos"
LUMOS_MODULES = ("plan-iterative", "ground-iterative", "integrated")
"""The LUMOS modules that come with PlanArena, all of one seed."""


def shipped_names() -> tuple[str, ...]:
    """All names of the shipped planner of whole plans."""
    return (NAME, *(f"{NAME}/{variant}" for variant in VARIANTS))


def shipped_modules() -> tuple[str, ...]:
    return tuple(f"{LUMOS}/{module}" for module in LUMOS_MODULES)


def is_shipped(name: str) -> bool:
    """Whether a language model of this name comes with PlanArena."""
    return name in (*shipped_names(), *shipped_modules())


def shipped_folder(name: str) -> Path:
    """The folder of `lilliput-planner`, `lilliput-planner/VARIANT` or `lilliput-lumos/MODULE`.

    Raises:
        LookupError: there is no such planner; the message says which there are.
    """
    known = (*shipped_names(), *shipped_modules())
    if name not in known:
        raise LookupError(f"there is no planner {name!r}; there are: {', '.join(known)}")
    family, _, variant = name.partition("/")
    return FOLDER.with_name(family) / (variant or VARIANTS[0])
