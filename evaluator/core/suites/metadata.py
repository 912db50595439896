"""Facts about a suite as a data set, beside its code: licence, authors, citation, released files, datasheet.

They are in the folder `metadata` beside the module that registers the suite: `SLUG.toml` and `SLUG.md`. The datasheet
has the sections of Gebru et al., "Datasheets for Datasets" (2021). The step-by-step form of a suite has the facts and
the datasheet of that suite, whose requests and data it has, with a paragraph on how it differs.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluator.core.suites.base import Suite
from evaluator.core.suites.registry import folder_of, whole_plans_of

SECTIONS = (
    "Motivation",
    "Composition",
    "Collection process",
    "Preprocessing, cleaning, labelling",
    "Uses",
    "Distribution",
    "Maintenance",
)
_KEYS = {"licence", "published", "citation", "keywords", "creators", "url", "live", "files", "fields"}
_OPTIONAL = {"url", "live", "files", "fields"}
_COMPOSITION = "## Composition\n"
_STEP_BY_STEP = (
    "This suite is `{whole}` step by step, with its requests, inputs and references: planners see the result of each "
    "step\nbefore they give the next ([Executed suites in turns](turns.md#executed-suites-in-turns)). What follows "
    "describes\n`{whole}`.\n"
)
_PLACE = re.compile(r"\{(\w+)\}")


class MetadataError(LookupError):
    """A suite has no metadata, or they are wrong; the message is a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedFile:
    """A file that others released and that is no part of this repository."""

    name: str
    url: str
    sha256: str
    content: str
    """What is in it, as a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedField:
    """A field of the requests in a released JSON file."""

    name: str
    description: str
    file: str
    path: str
    """JSONPath to its values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What the code of a suite does not say of it."""

    licence: str
    """Address of the licence of the requests."""
    published: str
    """ISO date."""
    citation: str
    """BibTeX."""
    keywords: tuple[str, ...]
    creators: tuple[str, ...]
    url: str
    """Of the release, if there is one outside PlanArena; else empty."""
    is_live: bool
    """Whether new requests appear under the same name."""
    files: tuple[ReleasedFile, ...]
    """Where the requests are others' data; empty: they follow from this repository."""
    fields: tuple[ReleasedField, ...]


def metadata_of(slug: str) -> Metadata:
    """The facts about a suite.

    Raises:
        MetadataError: there are none, or a setting is missing or unknown.
        LookupError: there is no such suite.
    """
    path = _path(slug, ending="toml")
    if not path.is_file():
        raise MetadataError(f"the suite {slug} has no metadata: there is no {path}")
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    wrong = sorted((_KEYS - _OPTIONAL - set(content)) | (set(content) - _KEYS))
    if wrong:
        raise MetadataError(f"{path}: missing or unknown: {', '.join(wrong)}")
    return _metadata(content)


def _metadata(content: Mapping[str, Any]) -> Metadata:
    return Metadata(
        licence=content["licence"],
        published=content["published"],
        citation=content["citation"].strip(),
        keywords=tuple(content["keywords"]),
        creators=tuple(content["creators"]),
        url=content.get("url", ""),
        is_live=content.get("live", False),
        files=tuple(ReleasedFile(**entry) for entry in content.get("files", ())),
        fields=tuple(ReleasedField(**entry) for entry in content.get("fields", ())),
    )


def datasheet(suite: Suite) -> str:
    """The datasheet as Markdown, without its title; figures are counted from the suite.

    Raises:
        MetadataError: there is none, or it names a figure that is not counted.
    """
    path = _path(suite.slug, ending="md")
    if not path.is_file():
        raise MetadataError(f"the suite {suite.slug} has no datasheet: there is no {path}")
    figures = _figures(suite)
    text = path.read_text(encoding="utf-8")
    unknown = sorted(set(_PLACE.findall(text)) - set(figures))
    if unknown:
        raise MetadataError(f"{path}: no figure {unknown[0]!r}; there are: {', '.join(figures)}")
    filled = _PLACE.sub(lambda found: figures[found[1]], text)
    whole = whole_plans_of(suite.slug)
    return filled.replace(_COMPOSITION, f"{_COMPOSITION}\n{_STEP_BY_STEP.format(whole=whole)}", 1) if whole else filled


def _path(slug: str, *, ending: str) -> Path:
    return folder_of(slug) / "metadata" / f"{whole_plans_of(slug) or slug}.{ending}"


def _figures(suite: Suite) -> dict[str, str]:
    """What a datasheet can name in braces."""
    structures = Counter(task.structure for task in suite.tasks)
    metrics = Counter(task.metric for task in suite.tasks)
    return {
        "tasks": f"{len(suite.tasks):,}",
        "linear": f"{structures['linear']:,}",
        "nonlinear": f"{structures['nonlinear']:,}",
        "tools": str(len(suite.catalogue.tools)),
        "metrics": ", ".join(f"{name} {count:,}" for name, count in metrics.most_common()),
        "with_gold": f"{sum(task.gold is not None for task in suite.tasks):,}",
        "splits": ", ".join(suite.conditions.splits),
        "version": suite.version,
        "digest": suite.digest,
    }
