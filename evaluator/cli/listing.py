"""Lists for the terminal and for other programs.

On a terminal a list is a table where that fits, else one block of lines for each row. Into a file or a pipe it is
plain text in aligned columns, two blanks or more apart, of any width: nothing is folded, cut or coloured.
"""

import textwrap

from rich.console import Console
from rich.table import Table
from rich.text import Text

_BORDERS = 3
"""Columns of the terminal that a table's cell needs beside its text."""
_LEAST_WRAPPED = 40
"""Columns that a sentence needs in a table's cell to be readable."""
_LEAST_FOLDED = 20
"""The same for a long name."""


class Listing:
    """Rows of plain text under named columns. The first column names the row."""

    def __init__(self, *columns: str, title: str = "", prose: str = "") -> None:
        """`prose` is the column, if any, that holds sentences, which need no label where rows are blocks of lines."""
        self._columns = columns
        self._prose = prose
        self._title = title
        self._rows: list[tuple[str, ...]] = []
        self._sections: set[int] = set()

    def add_row(self, *cells: str) -> None:
        """Add a row with a cell for each column."""
        if len(cells) != len(self._columns):
            raise ValueError(f"a row of {len(cells)} cells in a list of {len(self._columns)} columns")
        self._rows.append(tuple(" ".join(cell.split()) for cell in cells))

    def add_section(self) -> None:
        """Draw a line below the last row, where there are lines."""
        self._sections.add(len(self._rows))

    def show(self, console: Console) -> None:
        """Print the list in the form that suits the console."""
        if not console.is_terminal:
            lines = self._plain()
        elif self._fits(console.width):
            console.print(self._table())
            return
        else:
            lines = self._blocks(console.width)
        console.print(Text("\n").join(lines), soft_wrap=True)

    def _widths(self) -> list[int]:
        cells = [self._columns, *self._rows]
        return [max(len(row[number]) for row in cells) for number in range(len(self._columns))]

    def _plain(self) -> list[Text]:
        widths = self._widths()
        lines = [self._title] if self._title else []
        for row in (self._columns, *self._rows):
            lines.append("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        return list(map(Text, lines))

    def _fits(self, width: int) -> bool:
        """Whether all columns fit, the widest of them wrapped if enough is left for it."""
        widths = self._widths()
        widest = max(widths)
        left = width - sum(widths) + widest - _BORDERS * len(widths) - 1
        return left >= min(widest, _LEAST_WRAPPED if widest > _LEAST_WRAPPED else _LEAST_FOLDED)

    def _table(self) -> Table:
        widths = self._widths()
        table = Table(title=self._title or None)
        for column, width in zip(self._columns, widths, strict=True):
            table.add_column(Text(column), no_wrap=width < max(widths), overflow="fold")
        for number, row in enumerate(self._rows):
            if number in self._sections:
                table.add_section()
            table.add_row(*map(Text, row))
        return table

    def _blocks(self, width: int) -> list[Text]:
        lines = [Text(self._title, style="italic"), Text("")] if self._title else []
        for number, (name, *cells) in enumerate(self._rows):
            if number:
                lines.append(Text(""))
            lines.append(Text(name, style="bold"))
            found = dict(zip(self._columns[1:], cells, strict=True))
            sentences = found.pop(self._prose, "")
            facts = "; ".join(f"{column}: {cell}" if column else cell for column, cell in found.items() if cell)
            lines += [*_wrapped(sentences, width=width), *_wrapped(facts, width=width)]
        return lines


def _wrapped(text: str, *, width: int) -> list[Text]:
    lines = textwrap.wrap(
        text, width=max(width, 20), initial_indent="  ", subsequent_indent="  ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return list(map(Text, lines))
