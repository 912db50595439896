"""Croissant 1.0: a suite as a data set in JSON-LD (docs.mlcommons.org/croissant). Made from the suite and its metadata.

Requests that follow from this repository are one file of JSON lines, `request_lines`. Requests that others released are
described where they lie, with their digests, and not copied.
"""

import hashlib
import json

from evaluator.core import canonical_json
from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.model import plan_to_json
from evaluator.core.suites.base import Suite, Task
from evaluator.core.suites.metadata import Metadata, metadata_of

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
        "creator": [_creator(name) for name in facts.creators],
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


def _creator(name: str) -> JsonValue:
    """A person is written `Surname, First name`; anything else is an organisation."""
    return {"@type": "sc:Person" if "," in name else "sc:Organization", "name": name}


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
