"""Citations of results: BibTeX, CSL-JSON, CFF and plain text. No database access."""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from django.conf import settings

SITE = "PlanArena"
_BIBTEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip

_LINE_ENDS = re.compile("[\x7f-\x9f\u2028\u2029]")


class CitedSnapshot(NamedTuple):
    """The published state of a board that a citation refers to."""

    number: int
    digest: str
    address: str
    """Absolute URL."""
    created: datetime


class Citation(NamedTuple):
    """The citation of a planner's result on a suite."""

    key: str
    title: str
    author: str
    """The planner's team or owner."""
    finished: datetime
    address: str
    """Absolute URL of the evaluation."""
    result: str
    """Estimate, interval and rank in words."""
    conditions: str
    snapshot: CitedSnapshot | None
    """None for an evaluation that is on no board."""
    doi: str
    """Empty unless the operator has declared one."""

    @property
    def note(self) -> str:
        """Everything that identifies the result, as sentences."""
        parts = [f"{self.result}.", f"{self.conditions}; evaluated {self.finished:%Y-%m-%d}."]
        if self.snapshot is not None:
            number, digest, address, created = self.snapshot
            parts.append(f"Snapshot {number} of {created:%Y-%m-%d}, SHA-256 {digest}, {address}.")
        return " ".join(parts)

    @property
    def bibtex(self) -> str:
        """As BibTeX, for pages."""
        return as_bibtex(self).strip()

    @property
    def text(self) -> str:
        """In one paragraph."""
        doi = f" https://doi.org/{self.doi}" if self.doi else ""
        return f"{self.author} ({self.finished:%Y}). {self.title}. {self.note}{doi} {self.address}"


def doi_of(suite: str) -> str:
    """The DOI that the operator has declared for a suite, or else for the site; empty if there is none."""
    dois: Mapping[str, str] = settings.DOIS
    return dois.get(suite) or dois.get("") or ""


def rank_words(*, rank: int | None, low: int | None, high: int | None, planners: int) -> str:
    """A rank with its range, such as `rank 3 of 33, range 2 to 5 by paired tests`; empty without a rank, as of
    anchors."""
    if rank is None:
        return ""
    words = f"rank {rank} of {planners}"
    return words if low is None or high is None else f"{words}, range {low} to {high} by paired tests"


def as_bibtex(citation: Citation) -> str:
    """A BibTeX entry."""
    fields = {
        "title": citation.title,
        "author": f"{{{bibtex_text(citation.author)}}}",
        **published_in(citation.finished),
        **({"doi": citation.doi} if citation.doi else {}),
        "url": citation.address,
        "note": citation.note,
    }
    return bibtex_entry(key=citation.key, fields=fields)


def as_csl(citation: Citation) -> str:
    """A list of one CSL-JSON item, which citation managers import."""
    day = citation.finished
    item = {
        "id": citation.key,
        "type": "dataset",
        "title": citation.title,
        "author": [{"literal": citation.author}],
        "issued": {"date-parts": [[day.year, day.month, day.day]]},
        "publisher": SITE,
        **({"version": f"snapshot {citation.snapshot.number}"} if citation.snapshot else {}),
        **({"DOI": citation.doi} if citation.doi else {}),
        "URL": citation.address,
        "note": citation.note,
    }
    return json.dumps([item], ensure_ascii=False, indent=1) + "\n"


def as_cff(citation: Citation) -> str:
    """A file in the Citation File Format 1.2.0. Texts are JSON strings, which YAML reads as they are."""
    lines = [
        "cff-version: 1.2.0",
        f"message: {_quoted('Please cite this result as follows.')}",
        "type: dataset",
        f"title: {_quoted(citation.title)}",
        "authors:",
        f"  - name: {_quoted(citation.author)}",
        f"date-released: {citation.finished:%Y-%m-%d}",
        f"url: {_quoted(citation.address)}",
        f"abstract: {_quoted(citation.note)}",
    ]
    if citation.doi:
        lines.append(f"doi: {_quoted(citation.doi)}")
    if citation.snapshot is not None:
        number, digest, address, _ = citation.snapshot
        lines += [
            f"version: {_quoted(f'snapshot {number}')}",
            "identifiers:",
            "  - type: url",
            f"    value: {_quoted(address)}",
            f"    description: {_quoted(f'Snapshot {number} of the board')}",
            "  - type: other",
            f"    value: {_quoted(f'sha256:{digest}')}",
            f"    description: {_quoted(f'Digest of snapshot {number}')}",
        ]
    return "\n".join([*lines, ""])


def _quoted(text: str) -> str:
    # YAML takes more characters than JSON for ends of lines.
    return _LINE_ENDS.sub(lambda end: f"\\u{ord(end[0]):04x}", json.dumps(text, ensure_ascii=False))


def published_in(day: datetime) -> dict[str, str]:
    """Year and month for `bibtex_entry`."""
    return {"year": f"{day:%Y}", "month": f"{day:%b}".lower()}


def bibtex_entry(*, key: str, fields: Mapping[str, str]) -> str:
    """A BibTeX entry. `url`, `doi` and `author` are not escaped: styles read the first two verbatim, and the last has
    braces of its own. `month` is one of BibTeX's abbreviations."""
    lines = []
    for name, value in fields.items():
        if name == "month":
            lines.append(f"  {name} = {value},")
        else:
            text = value if name in {"url", "doi", "author"} else bibtex_text(value)
            lines.append(f"  {name} = {{{text}}},")
    return "\n".join([f"@misc{{{re.sub(r'[^A-Za-z0-9-]', '', key)},", *lines, "}", ""])


def bibtex_text(text: str) -> str:
    """The text with BibTeX's special characters escaped."""
    return "".join(_BIBTEX.get(character, character) for character in text)
