"""Comparisons as MySQL makes them, where SQLite would compare texts with numbers by their type.

    text column or expression  with number   ->  as numbers: `x + 0` takes the number that a text begins with
    number                     with 'text'   ->  as numbers
    date column                with 'text'   ->  the text in the form of the column: '2018-3-9' is '2018-03-09'
    expression                 with 'text'   ->  as texts, by the collation of the columns

What an operand is, is read off the statement: literals, functions that give numbers, and columns by their type.
"""

from collections.abc import Callable, Sequence
from enum import Enum, auto

from sqlglot import exp

from evaluator.lumos.sql import collation
from evaluator.lumos.sql.functions.dates import standard
from evaluator.lumos.sql.schema import Kind

KindOf = Callable[[exp.Column], Kind | None]
"""The kind of a column of a statement, or None if it is not known."""
_NUMERIC_FUNCTIONS = frozenset(
    {
        "ABS", "ASCII", "AVG", "CEIL", "CEILING", "CHAR_LENGTH", "CHARACTER_LENGTH", "COUNT", "CUME_DIST",
        "DATEDIFF", "DAY", "DAYOFMONTH", "DAYOFWEEK", "DAYOFYEAR", "DENSE_RANK", "EXP", "FIELD", "FIND_IN_SET",
        "FLOOR", "HOUR", "INSTR", "LENGTH", "LN", "LOCATE", "LOG", "LOG10", "LOG2", "MINUTE", "MOD", "MONTH",
        "NTILE", "PERCENT_RANK", "PI", "POW", "POWER", "QUARTER", "RAND", "RANK", "ROUND", "ROW_NUMBER",
        "SECOND", "SIGN", "SQRT", "STD", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "SUM", "TIMESTAMPDIFF",
        "TO_DAYS", "TRUNCATE", "VAR_POP", "VAR_SAMP", "VARIANCE", "WEEKDAY", "WEEKOFYEAR", "YEAR",
    }
)  # fmt: skip
_OF_THEIR_ARGUMENT = frozenset(
    {"MAX", "MIN", "ANY_VALUE", "FIRST_VALUE", "LAST_VALUE", "LAG", "LEAD", "IFNULL", "COALESCE"}
)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.BitwiseAnd, exp.BitwiseOr)


class Operand(Enum):
    """What is known of one side of a comparison."""

    NUMBER = auto()
    """A number with or without a type in SQLite."""
    NUMBER_COLUMN = auto()
    TEXT_COLUMN = auto()
    DATE_COLUMN = auto()
    MOMENT_COLUMN = auto()
    STRING = auto()
    """A text in the statement itself."""
    UNKNOWN = auto()


_OF_KIND = {
    Kind.INTEGER: Operand.NUMBER_COLUMN,
    Kind.REAL: Operand.NUMBER_COLUMN,
    Kind.TEXT: Operand.TEXT_COLUMN,
    Kind.DATE: Operand.DATE_COLUMN,
    Kind.MOMENT: Operand.MOMENT_COLUMN,
}
_TEXTS = (Operand.STRING, Operand.UNKNOWN)
"""Without a collation in SQLite."""
_NUMBERS = (Operand.NUMBER, Operand.NUMBER_COLUMN)


def operand_of(node: exp.Expr, *, kind_of: KindOf) -> Operand:
    """What an operand is."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Literal):
        return Operand.STRING if node.is_string else Operand.NUMBER
    if isinstance(node, exp.Column):
        kind = kind_of(node)
        return Operand.UNKNOWN if kind is None else _OF_KIND[kind]
    if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Select) and node.this.expressions:
        found = operand_of(node.this.expressions[0].unalias(), kind_of=kind_of)
        return found if found is not Operand.STRING else Operand.UNKNOWN
    if isinstance(node, exp.Window):
        return operand_of(node.this, kind_of=kind_of)
    return _of_expression(node, kind_of=kind_of)


def _of_expression(node: exp.Expr, *, kind_of: KindOf) -> Operand:
    if isinstance(node, (*_ARITHMETIC, exp.Boolean)):
        return Operand.NUMBER
    if isinstance(node, exp.Anonymous):
        name = node.name.upper()
        if name in _NUMERIC_FUNCTIONS:
            return Operand.NUMBER
        if name in _OF_THEIR_ARGUMENT and node.expressions:
            found = operand_of(node.expressions[0], kind_of=kind_of)
            return Operand.NUMBER if found in _NUMBERS else found
    return Operand.UNKNOWN


def adapted(written: str, *, node: exp.Expr, others: Sequence[exp.Expr], kind_of: KindOf) -> str:
    """One side of a comparison, so that SQLite compares it with the other sides as MySQL does.

    Args:
        written: the side in SQLite's SQL.
        node: the same in the statement.
        others: what it is compared with: one, two of BETWEEN, or all of a list.
        kind_of: the kind of a column, or None if it is not known.
    """
    this = operand_of(node, kind_of=kind_of)
    kinds = [operand_of(other, kind_of=kind_of) for other in others]
    if any(isinstance(one, exp.Collate | exp.Cast) for one in (node, *others)):
        # They say themselves how to compare.
        return written
    if this is Operand.STRING and Operand.STRING not in kinds:
        return _string(written, text=_text(node), others=kinds)
    if this not in _NUMBERS and kinds and all(kind in _NUMBERS for kind in kinds):
        columns_only = all(kind is Operand.NUMBER_COLUMN for kind in kinds) and not _is_computed(others)
        # SQLite itself takes the text for a number where the other side is a column of numbers.
        return written if columns_only and this is Operand.TEXT_COLUMN else f"({written} + 0)"
    if this in _TEXTS and kinds and all(kind in _TEXTS for kind in kinds):
        return f"({written} COLLATE {collation.NAME})"
    return written


def _string(written: str, *, text: str, others: Sequence[Operand]) -> str:
    if others and all(kind in _NUMBERS for kind in others):
        return f"({written} + 0)"
    for kind, with_time in ((Operand.DATE_COLUMN, False), (Operand.MOMENT_COLUMN, True)):
        if kind in others and (date := standard(text, with_time=with_time)) is not None:
            return f"'{date}'"
    return written


def _text(node: exp.Expr) -> str:
    while isinstance(node, exp.Paren):
        node = node.this
    return str(node.this)


def _is_computed(nodes: Sequence[exp.Expr]) -> bool:
    return any(not isinstance(node, exp.Column) for node in nodes)
