"""What a verification found, as text and as JSON. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from evaluator.core.commands.exit_codes import ExitCode

_LONGEST_SHOWN = 200


class _Verdict(NamedTuple):
    key: str
    """In `verification/1`."""
    sentence: str


_VERDICTS = {
    ExitCode.PASSED: _Verdict("verified", "verified"),
    ExitCode.CHECK_FAILED: _Verdict("mismatch", "MISMATCH"),
    ExitCode.INFRASTRUCTURE: _Verdict("not_checked", "NOT VERIFIED: not everything could be checked"),
}


class Kind(StrEnum):
    """What a finding is."""

    OK = "ok"
    NOTE = "note"
    """Something that the reader should know, such as what is not public."""
    MISMATCH = "mismatch"
    NOT_CHECKED = "not checked"
    """Something that should have been checked, and could not be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One result of one check."""

    kind: Kind
    part: str
    """`key`, `history`, `snapshot`, `rows`, `results` or `records`."""
    text: str
    """A sentence without a full stop; begins with where it is."""
    expected: str = ""
    found: str = ""


@dataclass
class Report:
    """All findings, in the order in which they were made."""

    address: str
    findings: list[Finding] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    """Suite, number of the snapshot, key, seed and so on, for `--json`."""

    def ok(self, part: str, text: str) -> None:
        """Something was checked and is right."""
        self.findings.append(Finding(kind=Kind.OK, part=part, text=text))

    def note(self, part: str, text: str) -> None:
        """Something to know that changes no exit code."""
        self.findings.append(Finding(kind=Kind.NOTE, part=part, text=text))

    def mismatch(self, part: str, text: str, *, expected: object = "", found: object = "") -> None:
        """Something is not as it was signed."""
        self.findings.append(
            Finding(kind=Kind.MISMATCH, part=part, text=text, expected=_cut(expected), found=_cut(found))
        )

    def not_checked(self, part: str, text: str) -> None:
        """Something could not be checked."""
        self.findings.append(Finding(kind=Kind.NOT_CHECKED, part=part, text=text))

    def of(self, kind: Kind) -> Sequence[Finding]:
        """The findings of one kind."""
        return [finding for finding in self.findings if finding.kind is kind]

    @property
    def exit_code(self) -> ExitCode:
        """A mismatch weighs more than what could not be checked."""
        if self.of(Kind.MISMATCH):
            return ExitCode.CHECK_FAILED
        return ExitCode.INFRASTRUCTURE if self.of(Kind.NOT_CHECKED) else ExitCode.PASSED

    def as_json(self) -> dict[str, Any]:
        """The report as `verification/1`."""
        return {
            "version": "verification/1",
            "address": self.address,
            "verdict": _VERDICTS[self.exit_code].key,
            "exit_code": int(self.exit_code),
            **self.facts,
            "findings": [
                {
                    "kind": finding.kind.value,
                    "part": finding.part,
                    "text": finding.text,
                    "expected": finding.expected,
                    "found": finding.found,
                }
                for finding in self.findings
            ],
        }

    def as_text(self) -> str:
        """The report for people. Texts of the site are shown without control characters."""
        lines = [_printable(self.address)]
        for finding in self.findings:
            mark = (
                finding.kind.value.upper() if finding.kind in {Kind.MISMATCH, Kind.NOT_CHECKED} else finding.kind.value
            )
            lines.append(f"  {mark:11}  {finding.part:8}  {_printable(finding.text)}")
            if finding.expected or finding.found:
                lines.append(f"{'':25}expected {_printable(finding.expected)}")
                lines.append(f"{'':25}found    {_printable(finding.found)}")
        lines.append(_VERDICTS[self.exit_code].sentence)
        return "\n".join(lines) + "\n"


def _cut(value: object) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "�" for character in text)
