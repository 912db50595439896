"""Parser for sequences of names, as OpenAGI's planners write them: `Image Denoising, Image Captioning`.

Grammar::

    sequence  = [label ":"] name { separator name } [separator]
    separator = "," | ";" | line break | "->" | "=>" | "|" | "then" | "followed by" | "and" | ...
    name      = [number | bullet] [quote] tool [quote] ["."]

A sequence specifies no data flow, so the steps are wired by the rule of `evaluator.replies.frontier`. The answer is the
first output of the last step. Other plans, for example with two texts corrected separately, need a tree or `plan/1`.

Names are compared without case, blanks, hyphens and underscores, and aliases count. At least one must be a tool's. A
part that is no tool but looks like the name of one, in its spelling or its words, is an invented tool, for the checks
to report; any other part makes the text prose, which is no plan. Lines of prose around the only sequence are left out.
Sequences in several lines are one if each line has one name, or if the lines before the last one end with a
separator; otherwise they are different plans, and none is read. Of a Markdown table, the only column of names counts;
the items of an HTML list are lines.

Recorded: whatever differs from names with commas between them.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from evaluator.core.naming import similar_names
from evaluator.core.plans.literals import short, spelling
from evaluator.core.plans.model import ParsedPlan, Plan, PlanContext, PlanSyntaxError
from evaluator.replies.envelope import NEGATION, without_format_characters
from evaluator.replies.frontier import known_names, resources_of, wire

FORM = "comma sequence"
MAX_NAMES = 100
_LONGEST_NAME = 200
"""In characters, including white space."""
_LONGEST_TEXT = 50_000
_MOST_LINES = 500
_LONGEST_LABEL = 120
_STRONG = re.compile(
    r"[,;，、；|\t]|\s*(?:-{1,2}>|={1,2}>|\\(?:long)?rightarrow\b|\\to\b|[→⇒➜➔➡⟶⇨↓⬇»>\u25b6]\ufe0f?)\s*"
    r"|(?:\s+|(?<=[,;])\s*)(?:and\s+)?(?:then|next|finally|followed\s+by|after\s+that)\s+",
    re.IGNORECASE,
)
_WEAK = re.compile(
    r"\s+(?:and|&|\+)\s+|\s*/\s*|\s+(?=\(?\d{1,2}[.)]\s|[\u2460-\u2473\u2776-\u277f]|[0-9]\ufe0f?\u20e3)|\s*\.\s+(?=\w)",
    re.IGNORECASE,
)
"""Separators that count only between names of tools."""
_HEAD = re.compile(
    r"""^[\s"'`“”‘’*_#>]*(?:\(?(?:\d{1,3}|[a-h]|[ivx]{1,4})\s?[.):/-](?=\D)|(?:[0-9]\ufe0f?\u20e3|[\u2460-\u2473\u2776-\u277f])\s?|[-*•‣·–]\s|(?<=\#)\d{1,3}\s|(?:step|task|tool|stage|action|module)\s?\#?\d{0,3}\s?[:.)-]"""
    r"""|(?:and|then|first|second|third|next|finally|lastly|use|apply|run|call)\b[\s,:]*)?[\s"'`“”‘’*_]*""",
    re.IGNORECASE,
)
_TAIL = re.compile(r"""[\s"'`“”‘’*]*(?:\(\))?[.;:!。]?[\s"'`“”‘’*]*$""")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NO_WORD = re.compile(r"\W+")
_FILLERS = frozenset(
    [
        "sure",
        "okay",
        "ok",
        "yes",
        "certainly",
        "first",
        "second",
        "third",
        "then",
        "next",
        "finally",
        "lastly",
        "and",
        "done",
        "end",
        "start",
        "answer",
        "plan",
        "input",
        "output",
        "result",
    ]
)
_BOXED = re.compile(r"\\boxed\{(?:\\text\{)?([^{}]*)\}{1,2}\.?")
_MATHS = re.compile(r"\\(?:text|textbf|mathrm)\{([^{}]*)\}")
_DESCRIBED = re.compile(r"(.{1,120}?)(?:\s*:\**\s+|\s+[-–—]\s+|\s+\()(?=\w)")
"""A name before what it is for: `1. **Image Denoising**: removes the noise`."""
_IN_BRACKETS = re.compile(r"\s+\(([^()]{1,120})\)\s*$")
"""What a name is for, after it: `Image Denoising (removes the noise)`."""
_NAME = re.compile(r"[^\W\d_]\w*(?:[ _/-]\w+){0,5}")
_HTML_LINE = re.compile(r"</?(?:ol|ul|li|p|br|div)\b[^<>]{0,200}>", re.IGNORECASE)
_HTML_STYLE = re.compile(r"</?(?:b|strong|i|em|code|span)>", re.IGNORECASE)
_TABLE_RULE = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*")
_BOX = re.compile(r"^(\s*[-*+•]\s+)\[([ xX])\]\s", re.MULTILINE)
_LIST_IN_PROSE = re.compile(r"(?P<before>[^\[\]]{0,120}[\s:])\[(?P<names>[^\[\]]+)\]\.?")
_SMALL_WORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "but",
        "by",
        "can",
        "cannot",
        "do",
        "for",
        "from",
        "have",
        "i",
        "if",
        "in",
        "is",
        "it",
        "its",
        "me",
        "my",
        "need",
        "no",
        "not",
        "of",
        "on",
        "or",
        "our",
        "please",
        "so",
        "sorry",
        "that",
        "the",
        "their",
        "them",
        "there",
        "these",
        "this",
        "those",
        "to",
        "use",
        "was",
        "we",
        "will",
        "with",
        "without",
        "would",
        "you",
        "your",
    ]
)
_REVERSAL = re.compile(
    r"\W*(?:but|however|wait|no|not|none|neither|wrong|actually|instead|sorry|unfortunately|impossible"
    r"|(?:I|we)(?:['\u2019]m|['\u2019]re| am| are)? "
    r"(?:sorry|afraid|unable|cannot|can not|\w+n['\u2019]t|refuse|decline))\b",
    re.IGNORECASE,
)
"""Beginnings of a line that takes back the one before it, or refuses."""


@dataclass(frozen=True, slots=True)
class _Part:
    written: str
    tool: str | None
    """Name of the tool; None for a part that looks like a name and is none."""
    name: str


def parse_comma(*, text: str, context: PlanContext) -> ParsedPlan:
    """Parse a sequence of names and wire it. Invented names become steps without inputs, for the checks to report.

    Raises:
        PlanSyntaxError: the text is no sequence of names with a tool among them, or has too many names.
    """
    return _Names(context).plan(text)


def parse_names(*, names: Sequence[str], context: PlanContext) -> ParsedPlan:
    """Parse a list of names.

    Raises:
        PlanSyntaxError: an item is no name, or none is a tool's.
    """
    reader = _Names(context)
    parts = [reader.part(name) for name in names]
    if any(part is None for part in parts):
        wrong = names[parts.index(None)]
        raise PlanSyntaxError(f"{short(wrong)} is no name of a tool", where=f"[{parts.index(None)}]")
    return reader.wired([part for part in parts if part is not None], tolerated=["dialect: list of names"])


def is_sequence(text: str, *, context: PlanContext) -> bool:
    """Whether a text consists of names of tools only."""
    lines = _Names(context).lines(text)
    parts = [part for line in lines for part in line or ()]
    return bool(parts) and all(line for line in lines) and all(part.tool is not None for part in parts)


class _Names:
    def __init__(self, context: PlanContext) -> None:
        self._context = context
        self._spellings: Mapping[str, str] = known_names(context)
        self._words = {word for name in self._spellings for word in name.split()} - _SMALL_WORDS

    def plan(self, text: str) -> ParsedPlan:
        if not without_format_characters(text).strip(" \t\r\n,;.\"'`*"):
            raise PlanSyntaxError("the plan is empty: it names no tool")
        lines = [line for line in text.splitlines() if line.strip(" \t,;")]
        if len(text) > _LONGEST_TEXT or len(lines) > _MOST_LINES:
            self._refuse(text[:_LONGEST_TEXT])
        tolerated: list[str] = []
        plain = self._without_markup(text, tolerated=tolerated)
        if plain != text:
            text = plain
            lines = [line for line in text.splitlines() if line.strip(" \t,;")]
        read = self.lines(text)
        if all(line is not None for line in read):
            first, last = 0, len(read)
        else:
            first, last = self._only_run(text, read=read)
            left = sum(len(line.strip()) for line in (*lines[:first], *lines[last:]))
            if (first and NEGATION.search(lines[first - 1])) or (last < len(lines) and _REVERSAL.match(lines[last])):
                raise PlanSyntaxError("the words around the names say that they are not the plan")
            tolerated.append(f"envelope: {left} characters of prose")
        parts = [line or () for line in read[first:last]]
        wrapped = all(line.rstrip().endswith((",", ";", "->", "→", "=>", "|")) for line in lines[first : last - 1])
        if last - first > 1 and not wrapped:
            if any(len(line) > 1 for line in parts):
                raise PlanSyntaxError("there are sequences of names in several lines, and only one can be the plan")
            tolerated.append("envelope: list in lines")
        return self.wired([part for line in parts for part in line], tolerated=tolerated, text=text)

    def _without_markup(self, text: str, *, tolerated: list[str]) -> str:
        """A text with lines instead of the items of HTML lists and of a Markdown table, and without equal checkboxes.

        Checkboxes that differ choose among the names, so they stay, and make the text prose.
        """
        if "<" in text and _HTML_LINE.search(text) is not None:
            text = _HTML_STYLE.sub("", _HTML_LINE.sub("\n", text))
            tolerated.append("envelope: HTML list")
        if len({box[2].lower() for box in _BOX.finditer(text)}) == 1:
            text = _BOX.sub(r"\1", text)
            tolerated.append("envelope: checkboxes")
        lines = text.splitlines()
        rules = [index for index, line in enumerate(lines) if "|" in line and _TABLE_RULE.fullmatch(line)]
        if len(rules) == 1 and rules[0]:
            end = rules[0] + 1
            while end < len(lines) and "|" in lines[end]:
                end += 1
            names = self._column(lines[rules[0] + 1 : end])
            if names is not None:
                tolerated.append("envelope: table")
                return "\n".join((*lines[: rules[0] - 1], *names, *lines[end:]))
        return text

    def _column(self, lines: Sequence[str]) -> list[str] | None:
        """The only column of a table that has names; None if there is none, or several."""
        rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
        if not rows or any(len(row) != len(rows[0]) for row in rows):
            return None
        found: list[list[str]] = []
        for column in map(list, zip(*rows, strict=True)):
            parts = [self.part(cell) for cell in column]
            if all(part is not None for part in parts) and any(part and part.tool for part in parts):
                found.append(column)
            elif any(part is not None and part.tool for part in parts):
                return None
        return found[0] if len(found) == 1 else None

    def _only_run(self, text: str, *, read: Sequence[tuple[_Part, ...] | None]) -> tuple[int, int]:
        """The only run of lines that are names of tools."""
        certain = [line is not None and len(line) > 0 and all(part.tool for part in line) for line in read]
        starts = [index for index, is_name in enumerate(certain) if is_name and not (index and certain[index - 1])]
        if len(starts) != 1:
            if len(starts) > 1:
                raise PlanSyntaxError("there are several sequences of names, and only one can be the plan")
            self._refuse(text)
        end = next((index for index in range(starts[0], len(certain)) if not certain[index]), len(certain))
        # Prose that hides another candidate: a line of names with an invented one.
        if any(line for index, line in enumerate(read) if not starts[0] <= index < end and line):
            raise PlanSyntaxError("there are several sequences of names, and only one can be the plan")
        return starts[0], end

    def lines(self, text: str) -> list[tuple[_Part, ...] | None]:
        """The parts of each line that is not empty; None for prose."""
        return [self._line(line) for line in text.splitlines() if line.strip(" \t,;")]

    def _line(self, line: str) -> tuple[_Part, ...] | None:
        line = line.strip()
        if line[:1] == "[" and line[-1:] == "]" and "[" not in line[1:-1]:
            line = line[1:-1]
        if (boxed := _BOXED.fullmatch(line)) is not None:
            line = boxed[1]
        elif "\\" in line:
            line = _MATHS.sub(r"\1", line.strip("$"))
        parts = self._parts(line)
        if parts is None and (listed := _LIST_IN_PROSE.fullmatch(line)) is not None:
            before = listed["before"]
            if NEGATION.search(before) is None and not self._names_other(before, than=""):
                parts = self._parts(listed["names"])
                return parts if parts and all(part.tool for part in parts) else None
        label, colon, rest = line.partition(":")
        if parts is None and colon and len(label) <= _LONGEST_LABEL and not NEGATION.search(label) and rest.strip():
            parts = self._parts(rest)
            if parts is not None and not any(part.tool for part in parts):
                return None
        if parts is None and (described := _DESCRIBED.match(line)) is not None:
            name = self.part(described[1])
            rest = line[described.end(1) :]
            if (
                name is not None
                and name.tool is not None
                and not NEGATION.search(line)
                and not self._names_other(rest, than=name.tool)
            ):
                return (name,)
        return parts

    def _names_other(self, text: str, *, than: str) -> bool:
        """Whether a text contains the name of another tool."""
        plain = f" {spelling(_NO_WORD.sub(' ', text))} "
        return any(f" {name} " in plain for name, tool in self._spellings.items() if tool != than)

    def _parts(self, line: str) -> tuple[_Part, ...] | None:
        parts: list[_Part] = []
        for written in _STRONG.split(line):
            if not written.strip(" \t\"'`*.()"):
                continue
            if spelling(written.strip(" \t\"'`*.()")) in _FILLERS:
                continue
            part = self.part(written)
            if (part is None or part.tool is None) and (described := _IN_BRACKETS.search(written)) is not None:
                named = self.part(written[: described.start()])
                if (
                    named is not None
                    and named.tool is not None
                    and not NEGATION.match(described[1].lstrip("( "))
                    and not self._names_other(described[1], than=named.tool)
                ):
                    parts.append(named)
                    continue
            if part is None or part.tool is None:
                smaller = [self.part(piece) for piece in _WEAK.split(written) if piece.strip()]
                known = [piece for piece in smaller if piece is not None and piece.tool is not None]
                if len(known) == len(smaller) > 1:
                    parts += known
                    continue
            if part is None:
                return None
            if part.tool is None and spelling(part.name) in _FILLERS:
                continue
            parts.append(part)
        return tuple(parts)

    def part(self, written: str) -> _Part | None:
        """The name of a tool, or a text that looks like one; None for anything else."""
        if len(written) > _LONGEST_NAME:
            return None
        plain = " ".join(without_format_characters(written).split())
        tool = self._spellings.get(spelling(plain))
        if tool is not None:
            return _Part(written.strip(), tool, tool)
        name = _TAIL.sub("", plain)
        tool = self._spellings.get(spelling(name)) or self._spellings.get(spelling(_HEAD.sub("", name)))
        if tool is not None:
            return _Part(written.strip(), tool, tool)
        name = _HEAD.sub("", name) or name
        if (tool := self._spellings.get(spelling(_CAMEL.sub(" ", name)))) is not None:
            return _Part(written.strip(), tool, tool)
        if _NAME.fullmatch(name) is None or NEGATION.fullmatch(name):
            return None
        words = spelling(name).split()
        if _SMALL_WORDS.intersection(words) and "_" not in name:
            return None
        is_spelled = "_" in name or all(word[:1].isupper() for word in name.split())
        return _Part(written.strip(), None, name) if is_spelled or self._words.intersection(words) else None

    def wired(self, parts: Sequence[_Part], *, tolerated: list[str], text: str = "") -> ParsedPlan:
        if not any(part.tool for part in parts):
            self._refuse(text or ", ".join(part.written for part in parts))
        if len(parts) > MAX_NAMES:
            raise PlanSyntaxError(f"{len(parts)} names; a plan has at most {MAX_NAMES}")
        for part in parts:
            if part.tool is not None and part.tool != part.written:
                tolerated.append(f"read {part.written!r} as {part.tool!r}")
        frontier = resources_of(self._context)
        steps = tuple(
            wire(name=part.name, number=number, frontier=frontier, context=self._context)
            for number, part in enumerate(parts)
        )
        answers = tuple(steps[-1].outputs.values())[:1]
        return ParsedPlan(plan=Plan(steps=steps, answers=answers), form=FORM, tolerated=tuple(tolerated))

    def _refuse(self, text: str) -> NoReturn:
        plain = " ".join(text.split())
        known = set(self._spellings.values())
        near = similar_names(plain, known, least=0.8) if len(plain) <= _LONGEST_NAME else []
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise PlanSyntaxError(f"{short(plain)} is no list of the tools that are offered, and so no plan{hint}")


def refuse_without_tool(*, text: str, names: Sequence[str], context: PlanContext) -> None:
    """Raise PlanSyntaxError if none of the parsed names is a tool's: a sentence is no plan."""
    if names and not set(known_names(context).values()).intersection(names):
        raise PlanSyntaxError(f"{short(' '.join(text.split()))} names no tool that is offered, so that it is no plan")
