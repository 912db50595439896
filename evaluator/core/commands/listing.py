"""Tables of the command line.

With a known width (a terminal, or COLUMNS in the environment) the columns are wrapped to fit; if they would be too
narrow to read, each row becomes a block of lines. Without one, as in a pipe, each row is one line of any length, so
that `grep` finds whole rows. Programs should read `--json` instead.
"""

import os
import re
import textwrap
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

_GAP = "  "
_NO_BREAK = "\N{NO-BREAK SPACE}"
_LEAST_PROSE = 36
"""Columns that a sentence needs to be readable."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NUMBER = re.compile(r"[+-]?\d[\d.,]*[%x]?|-|")


class Listing:
    """Rows of plain text under named columns. The first column names the row."""

    def __init__(self, *columns: str, title: str = "", prose: str = "") -> None:
        """`prose` is the column, if any, that holds sentences: it has no label in blocks of lines."""
        self._columns = columns
        self._prose = prose
        self._title = printable(title)
        self._rows: list[tuple[str, ...]] = []
        self._headings: dict[int, str] = {}

    def add_row(self, *cells: str) -> None:
        """Add a row with a cell for each column."""
        if len(cells) != len(self._columns):
            raise ValueError(f"a row of {len(cells)} cells in a list of {len(self._columns)} columns")
        self._rows.append(tuple(printable(" ".join(cell.split())) for cell in cells))

    def add_section(self, heading: str) -> None:
        """Put a heading above the rows that follow."""
        self._headings[len(self._rows)] = heading

    def show(self, console: Console) -> None:
        """Print the list in the form that suits the console."""
        if self._title and not self._rows:
            lines = []
        elif not has_width(console):
            lines = self._table([max(map(len, cells)) for cells in self._cells()])
        elif (widths := self._widths(console.width)) is not None:
            lines = self._table(widths)
        else:
            lines = self._blocks(console.width)
        if self._title:
            title = _wrapped(self._title, width=console.width) if has_width(console) else [self._title]
            lines = [*(Text(line, style="italic") for line in title), *([Text("")] if lines else []), *lines]
        console.print(Text("\n").join(lines), soft_wrap=True)

    def markdown(self) -> str:
        """The list as a Markdown table, with a line of its title before it."""
        columns = self._cells()
        rows = [list(row) for row in zip(*columns, strict=True)]
        # No alignment: as HTML it would be an inline style, which the site's content security policy forbids.
        rule = ["---"] * len(columns)
        lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
        lines.insert(1, f"|{'|'.join(rule)}|")
        return "\n".join([*([self._title, ""] if self._title else []), *lines])

    def _shown(self) -> list[int]:
        """Numbers of the columns that are not empty."""
        return [number for number in range(len(self._columns)) if not number or any(row[number] for row in self._rows)]

    def _cells(self) -> list[list[str]]:
        """Heading and cells of each displayed column."""
        return [[self._columns[number], *(row[number] for row in self._rows)] for number in self._shown()]

    def _widths(self, width: int) -> list[int] | None:
        """A width for each displayed column; None if they do not fit into `width` characters.

        The widest column is narrowed first. No column becomes narrower than its longest word.
        """
        names = [self._columns[number] for number in self._shown()]
        widths, least = [], []
        for name, cells in zip(names, self._cells(), strict=True):
            widths.append(max(map(len, cells)))
            longest_word = max(len(word) for cell in cells for word in _joined(cell).split(" "))
            least.append(max(longest_word, min(_LEAST_PROSE, widths[-1])) if name == self._prose else longest_word)
        excess = sum(widths) + len(_GAP) * (len(widths) - 1) - width
        while excess > 0:
            room = [current - minimum for current, minimum in zip(widths, least, strict=True)]
            flexible = [number for number, left in enumerate(room) if left > 0]
            if not flexible:
                return None
            widths[max(flexible, key=lambda number: widths[number])] -= 1
            excess -= 1
        return widths

    def _table(self, widths: Sequence[int]) -> list[Text]:
        columns = self._cells()
        numeric = [all(map(_NUMBER.fullmatch, cells[1:])) for cells in columns]
        lines: list[Text] = []
        for number, cells in enumerate(zip(*columns, strict=True)):
            if number and (heading := self._headings.get(number - 1)):
                wide = sum(widths) + len(_GAP) * (len(widths) - 1)
                lines += [Text(""), *(Text(line, style="italic") for line in _wrapped(heading, width=wide))]
            wrapped = [_wrapped(cell, width=width) for cell, width in zip(cells, widths, strict=True)]
            for line in range(max(map(len, wrapped))):
                parts = [cell[line] if line < len(cell) else "" for cell in wrapped]
                aligned = [
                    part.rjust(width) if right else part.ljust(width)
                    for part, width, right in zip(parts, widths, numeric, strict=True)
                ]
                lines.append(Text(_GAP.join(aligned).rstrip(), style="" if number else "bold"))
        return lines

    def _blocks(self, width: int) -> list[Text]:
        lines: list[Text] = []
        for number, (name, *cells) in enumerate(self._rows):
            if number:
                lines.append(Text(""))
            if heading := self._headings.get(number):
                lines += [*(Text(line, style="italic") for line in _wrapped(heading, width=width)), Text("")]
            lines.append(Text(name, style="bold"))
            labelled = dict(zip(self._columns[1:], cells, strict=True))
            sentences = labelled.pop(self._prose, "")
            facts = "; ".join(f"{column}: {cell}" if column else cell for column, cell in labelled.items() if cell)
            for text in filter(None, (sentences, facts)):
                lines += [Text(f"  {line}") for line in _wrapped(text, width=width - 2)]
        return lines


def printable(text: str) -> str:
    """The text with control characters, other than tabs and line feeds, replaced: a terminal would interpret them."""
    return _CONTROL.sub("?", text)


def show_all(listings: Iterable[Listing], *, console: Console) -> None:
    """Print lists with a blank line between them."""
    for number, listing in enumerate(listings):
        if number:
            console.print()
        listing.show(console)


def has_width(console: Console) -> bool:
    """Whether lines are wrapped: on a terminal, or if COLUMNS sets the width of the output."""
    return console.is_terminal or bool(os.environ.get("COLUMNS"))


def _wrapped(text: str, *, width: int) -> list[str]:
    """Lines of at most `width` characters, broken between words but not after a colon; [""] for no text."""
    lines = textwrap.wrap(_joined(text), width=max(width, 1), break_long_words=False, break_on_hyphens=False)
    return [line.replace(_NO_BREAK, " ") for line in lines] or [""]


def _joined(text: str) -> str:
    """The text with `name: value` as one word."""
    return text.replace(": ", f":{_NO_BREAK}")
