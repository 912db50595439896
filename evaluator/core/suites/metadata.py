"""A suite as a data set: licence, authors, citation, released files, datasheet, and its description as Croissant.

The facts are in the folder `metadata` beside the module that registers the suite: `SLUG.toml` and `SLUG.md`. The
datasheet has the sections of Gebru et al., "Datasheets for Datasets" (2021). The step-by-step form of a suite has the
facts and the datasheet of that suite, whose requests and data it has, with a paragraph on how it differs.

Croissant 1.0 is JSON-LD (docs.mlcommons.org/croissant). Requests that follow from this repository are one file of JSON
lines, `request_lines`. Requests that others released are described where they lie, with their digests, and not copied.
"""

import hashlib
import json
import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from evaluator.core import canonical_json
from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.model import plan_to_json
from evaluator.core.suites.base import Suite, Task
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
_KEYS = {"licence", "published", "citation", "keywords", "creators", "url", "live", "files", "fields", "task_seconds"}
_OPTIONAL = {"url", "live", "files", "fields", "task_seconds"}
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
    task_seconds: float | None = None
    """Processor time per task of evaluating the gold plans, in seconds, with the bundled experts and `MEASURED_SAMPLES`
    samples where plans are executed; None: not measured. Planners' own time comes on top."""


MEASURED_SAMPLES = 12
"""Samples per task at which `task_seconds` of an executed suite is measured."""


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
        task_seconds=content.get("task_seconds"),
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


CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
REQUESTS = "requests.jsonl"
"""Name of the file with a suite's requests."""
_CONTEXT: dict[str, JsonValue] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_FIELDS = {
    "id": "Key of the request within the suite.",
    "text": "The request, as planners are given it.",
    "structure": "linear: one input; nonlinear: several inputs or parts.",
    "metric": "What its answer is scored by.",
    "resources": "JSON object: the named inputs with their types.",
    "expects": "Type of the answer; empty where several results may be wanted.",
    "gold_plan": "JSON object plan/1: a right plan; empty where none is known.",
    "attributes": "JSON object: the properties that the suite groups its requests by.",
}
"""Of a line of `request_lines`, by name."""


def request_lines(suite: Suite) -> bytes:
    """The requests as JSON lines with the fields of the record set."""
    return b"".join(canonical_json.dumps(_line(task)).encode() + b"\n" for task in suite.tasks)


def _line(task: Task) -> dict[str, JsonValue]:
    return {
        "id": task.key,
        "text": task.text,
        "structure": task.structure,
        "metric": task.metric,
        "resources": canonical_json.dumps({name: str(kind) for name, kind in task.resources.items()}),
        "expects": "" if task.expects is None else str(task.expects),
        "gold_plan": "" if task.gold is None else canonical_json.dumps(plan_to_json(task.gold)),
        "attributes": canonical_json.dumps(task.attributes),
    }


def croissant(*, suite: Suite, url: str = "", requests_url: str = REQUESTS) -> dict[str, JsonValue]:
    """The description as a JSON-LD object.

    Args:
        suite: a suite of the registry.
        url: page of the data set; by default that of the release, or a name that is no address where there is none.
        requests_url: where the file with the requests is; by default beside the description.

    Raises:
        LookupError: the suite has no metadata.
    """
    facts = metadata_of(suite.slug)
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": suite.slug,
        "alternateName": suite.title,
        "description": suite.description,
        "url": url or facts.url or f"urn:planarena:suite:{suite.slug}:{suite.digest}",
        "identifier": suite.digest,
        "license": facts.licence,
        # Persons are written `Surname, First name`.
        "creator": [
            {"@type": "sc:Person" if "," in name else "sc:Organization", "name": name} for name in facts.creators
        ],
        "citeAs": facts.citation,
        "datePublished": facts.published,
        "version": f"{suite.version}.0.0",
        "keywords": list(facts.keywords),
        "isLiveDataset": facts.is_live,
        "distribution": _files(suite=suite, facts=facts, url=requests_url),
        "recordSet": [_record_set(facts)],
    }


def as_text(described: dict[str, JsonValue]) -> str:
    """The description as it is printed and served."""
    return json.dumps(described, indent=2, ensure_ascii=False) + "\n"


def _files(*, suite: Suite, facts: Metadata, url: str) -> list[JsonValue]:
    if facts.files:
        return [
            _file(name=file.name, description=file.content, url=file.url, kind="application/json", sha256=file.sha256)
            for file in facts.files
        ]
    lines = request_lines(suite)
    file = _file(
        name=REQUESTS,
        description="One request a line.",
        url=url,
        kind="application/jsonlines",
        sha256=hashlib.sha256(lines).hexdigest(),
    )
    return [{**file, "contentSize": f"{len(lines)} B"}]


def _file(*, name: str, description: str, url: str, kind: str, sha256: str) -> dict[str, JsonValue]:
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "description": description,
        "contentUrl": url,
        "encodingFormat": kind,
        "sha256": sha256,
    }


def _record_set(facts: Metadata) -> JsonValue:
    fields: list[JsonValue] = [
        _field(name=field.name, description=field.description, file=field.file, extract={"jsonPath": field.path})
        for field in facts.fields
    ] or [
        _field(name=name, description=description, file=REQUESTS, extract={"column": name})
        for name, description in _FIELDS.items()
    ]
    return {
        "@type": "cr:RecordSet",
        "@id": "requests",
        "name": "requests",
        "description": "The requests of the suite.",
        "field": fields,
    }


def _field(*, name: str, description: str, file: str, extract: dict[str, JsonValue]) -> JsonValue:
    return {
        "@type": "cr:Field",
        "@id": f"requests/{name}",
        "name": name,
        "description": description,
        "dataType": "sc:Text",
        "source": {"fileObject": {"@id": file}, "extract": extract},
    }
