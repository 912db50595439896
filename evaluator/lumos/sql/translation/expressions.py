"""Translation of expressions from MySQL to SQLite. Expressions without a writer are unsupported.

Comparisons follow MySQL, where SQLite would compare texts with numbers by their storage types:

    text column or expression  with number   ->  as numbers: `x + 0` is the leading number of a text
    number                     with 'text'   ->  as numbers
    date column                with 'text'   ->  the text in the format of the column: '2018-3-9' is '2018-03-09'
    expression                 with 'text'   ->  as texts, by the collation of the columns

The kind of an operand is determined statically: by literals, functions with numeric results, and types of columns.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from typing import Any

from sqlglot import exp

from evaluator.lumos.sql import collation
from evaluator.lumos.sql.functions.dates import standard
from evaluator.lumos.sql.outcome import Reason, StatementError
from evaluator.lumos.sql.schema import Kind
from evaluator.lumos.sql.translation import calls
from evaluator.lumos.sql.translation.parsing import Writer, only, quoted, refuse, text

KindOf = Callable[[exp.Column], Kind | None]
"""The kind of a column of a statement; None if it is unknown."""
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
    """Kind of an operand of a comparison."""

    NUMBER = auto()
    """A numeric expression."""
    NUMBER_COLUMN = auto()
    TEXT_COLUMN = auto()
    DATE_COLUMN = auto()
    MOMENT_COLUMN = auto()
    STRING = auto()
    """A string literal."""
    UNKNOWN = auto()


_OF_KIND = {
    Kind.INTEGER: Operand.NUMBER_COLUMN,
    Kind.REAL: Operand.NUMBER_COLUMN,
    Kind.TEXT: Operand.TEXT_COLUMN,
    Kind.DATE: Operand.DATE_COLUMN,
    Kind.MOMENT: Operand.MOMENT_COLUMN,
}
_TEXTS = (Operand.STRING, Operand.UNKNOWN)
"""Operands without a collation in SQLite."""
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
        operand = operand_of(node.this.expressions[0].unalias(), kind_of=kind_of)
        return operand if operand is not Operand.STRING else Operand.UNKNOWN
    if isinstance(node, exp.Window):
        return operand_of(node.this, kind_of=kind_of)
    if isinstance(node, (*_ARITHMETIC, exp.Boolean)):
        return Operand.NUMBER
    if isinstance(node, exp.Anonymous):
        name = node.name.upper()
        if name in _NUMERIC_FUNCTIONS:
            return Operand.NUMBER
        if name in _OF_THEIR_ARGUMENT and node.expressions:
            operand = operand_of(node.expressions[0], kind_of=kind_of)
            return Operand.NUMBER if operand in _NUMBERS else operand
    return Operand.UNKNOWN


def adapted(written: str, *, node: exp.Expr, others: Sequence[exp.Expr], kind_of: KindOf) -> str:
    """An operand of a comparison, adapted so that SQLite compares it like MySQL.

    Args:
        written: the translated operand.
        node: the operand in the statement.
        others: the other operands: one, two of BETWEEN, or all of a list.
        kind_of: the kind of a column; None if it is unknown.
    """
    this = operand_of(node, kind_of=kind_of)
    kinds = [operand_of(other, kind_of=kind_of) for other in others]
    if any(isinstance(operand, exp.Collate | exp.Cast) for operand in (node, *others)):
        # The comparison is explicit.
        return written
    if this is Operand.STRING and Operand.STRING not in kinds:
        if kinds and all(kind in _NUMBERS for kind in kinds):
            return f"({written} + 0)"
        while isinstance(node, exp.Paren):
            node = node.this
        for kind, with_time in ((Operand.DATE_COLUMN, False), (Operand.MOMENT_COLUMN, True)):
            if kind in kinds and (date := standard(str(node.this), with_time=with_time)) is not None:
                return f"'{date}'"
        return written
    if this not in _NUMBERS and kinds and all(kind in _NUMBERS for kind in kinds):
        columns_only = all(kind is Operand.NUMBER_COLUMN for kind in kinds) and all(
            isinstance(other, exp.Column) for other in others
        )
        # SQLite itself converts the text if the other operand is a numeric column.
        return written if columns_only and this is Operand.TEXT_COLUMN else f"({written} + 0)"
    if this in _TEXTS and kinds and all(kind in _TEXTS for kind in kinds):
        return f"({written} COLLATE {collation.NAME})"
    return written


_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


_ROW_NUMBERS = frozenset({"rowid", "oid", "_rowid_"})
"""Implicit columns of SQLite's tables, which MySQL lacks."""
_Write = Callable[[Any, Writer], str]


def write_expression(node: exp.Expr, writer: Writer) -> str:
    """Translate an expression.

    Raises:
        StatementError: a part of it is unsupported.
    """
    write = _WRITERS.get(type(node))
    if write is None:
        raise refuse(node)
    return write(node, writer)


def _literal(node: exp.Literal, _: Writer) -> str:
    if node.is_string:
        return text(str(node.this))
    if not _NUMBER.fullmatch(str(node.this)):
        raise StatementError(Reason.SYNTAX, f"{str(node.this)[:40]!r} is no number")
    return str(node.this)


def _column(node: exp.Column, writer: Writer) -> str:
    only(node, "this", "table", "db")
    if node.args.get("db") and node.db.lower() != writer.schema.name.lower():
        raise StatementError(
            Reason.UNKNOWN_NAME, f"only the database {writer.schema.name} can be read, not {node.db[:60]}"
        )
    if node.name.lower() in _ROW_NUMBERS:
        raise StatementError(Reason.UNKNOWN_NAME, f"there is no column {node.name}")
    name = "*" if isinstance(node.this, exp.Star) else quoted(node.name)
    return f"{quoted(node.table)}.{name}" if node.args.get("table") else name


def _binary(operator: str) -> _Write:
    def write(node: exp.Binary, writer: Writer) -> str:
        only(node, "this", "expression")
        return f"({writer.expression(node.this)} {operator} {writer.expression(node.expression)})"

    return write


def _shift(operator: str, sign: int) -> _Write:
    """Addition or subtraction, of numbers or of a date and an interval."""
    plain = _binary(operator)

    def write(node: exp.Binary, writer: Writer) -> str:
        if isinstance(node.expression, exp.Interval):
            return calls.with_interval(node.this, interval=node.expression, sign=sign, writer=writer)
        if isinstance(node.this, exp.Interval) and sign > 0:
            return calls.with_interval(node.expression, interval=node.this, sign=sign, writer=writer)
        return plain(node, writer)

    return write


def _chain(operator: str) -> _Write:
    """AND and OR, flattened: long chains need not be deep."""

    def write(node: exp.Connector, writer: Writer) -> str:
        parts = [writer.expression(part) for part in node.flatten(unnest=False)]
        return "(" + f" {operator} ".join(parts) + ")"

    return write


def _comparison(operator: str) -> _Write:
    def write(node: exp.Binary, writer: Writer) -> str:
        only(node, "this", "expression")
        if isinstance(node.expression, exp.Any | exp.All):
            return _quantified(node, operator=operator, writer=writer)
        left = adapted(writer.expression(node.this), node=node.this, others=[node.expression], kind_of=writer.kind_of)
        right = adapted(
            writer.expression(node.expression), node=node.expression, others=[node.this], kind_of=writer.kind_of
        )
        return f"({left} {operator} {right})"

    return write


def _quantified(node: exp.Binary, *, operator: str, writer: Writer) -> str:
    """A comparison with ANY or ALL, as EXISTS or NOT EXISTS."""
    subquery = node.expression.this
    query = subquery.this if isinstance(subquery, exp.Subquery) else subquery
    if not isinstance(query, exp.Select | exp.SetOperation):
        raise refuse(node.expression)
    if operator == "=" and isinstance(node.expression, exp.Any):
        return f"({writer.expression(node.this)} IN ({writer.query(query)}))"
    left = writer.expression(node.this)
    values = f"(SELECT NULL AS `my_value` WHERE 0 UNION ALL SELECT * FROM ({writer.query(query)}))"  # noqa: S608
    if isinstance(node.expression, exp.Any):
        return f"EXISTS (SELECT 1 FROM {values} WHERE {left} {operator} `my_value`)"  # noqa: S608
    return f"(NOT EXISTS (SELECT 1 FROM {values} WHERE ({left} {operator} `my_value`) IS NOT TRUE))"  # noqa: S608


def _divided(node: exp.Binary, writer: Writer) -> str:
    return f"(CAST({writer.expression(node.this)} AS REAL) / {writer.expression(node.expression)})"


def _is(node: exp.Is, writer: Writer) -> str:
    truth = node.expression
    right = str(truth.this).upper() if isinstance(truth, exp.Boolean) else writer.expression(truth)
    return f"({writer.expression(node.this)} IS {right})"


def _like(node: exp.Like, writer: Writer, escape: str = "'\\'") -> str:
    only(node, "this", "expression")
    return f"({writer.expression(node.this)} LIKE {writer.expression(node.expression)} ESCAPE {escape})"


def _escape(node: exp.Escape, writer: Writer) -> str:
    character = node.expression
    if not isinstance(node.this, exp.Like) or not isinstance(character, exp.Literal) or len(str(character.this)) != 1:
        raise refuse(node)
    return _like(node.this, writer, text(str(character.this)))


def _in(node: exp.In, writer: Writer) -> str:
    only(node, "this", "query", "expressions")
    left, query = writer.expression(node.this), node.args.get("query")
    if query is not None:
        return f"({left} IN ({writer.query(query)}))"
    values = node.expressions
    left = adapted(left, node=node.this, others=values, kind_of=writer.kind_of)
    parts = [
        adapted(writer.expression(value), node=value, others=[node.this], kind_of=writer.kind_of) for value in values
    ]
    return f"({left} IN ({', '.join(parts)}))"


def _between(node: exp.Between, writer: Writer) -> str:
    only(node, "this", "low", "high")
    ends = [node.args["low"], node.args["high"]]
    value = adapted(writer.expression(node.this), node=node.this, others=ends, kind_of=writer.kind_of)
    low, high = (adapted(writer.expression(end), node=end, others=[node.this], kind_of=writer.kind_of) for end in ends)
    return f"({value} BETWEEN {low} AND {high})"


def _case(node: exp.Case, writer: Writer) -> str:
    only(node, "this", "ifs", "default")
    parts = ["CASE"] + ([writer.expression(node.this)] if node.this else [])
    for branch in node.args["ifs"]:
        parts += ["WHEN", writer.expression(branch.this), "THEN", writer.expression(branch.args["true"])]
    if node.args.get("default") is not None:
        parts += ["ELSE", writer.expression(node.args["default"])]
    return " ".join([*parts, "END"])


def _if(node: exp.If, writer: Writer) -> str:
    if node.args.get("false") is None:
        raise StatementError(Reason.SYNTAX, "IF takes three arguments")
    parts = map(writer.expression, (node.this, node.args["true"], node.args["false"]))
    return "CASE WHEN {} THEN {} ELSE {} END".format(*parts)


def _adjacent(node: exp.Concat, _: Writer) -> str:
    """Adjacent string literals are concatenated."""
    if not all(isinstance(part, exp.Literal) and part.is_string for part in node.expressions):
        raise refuse(node)
    return text("".join(str(part.this) for part in node.expressions))


def _rounded(name: str) -> _Write:
    """CEIL or FLOOR."""

    def write(node: exp.Expr, writer: Writer) -> str:
        only(node, "this")
        return f"{name}({writer.expression(node.this)})"

    return write


def _subquery(node: exp.Expr, writer: Writer) -> str:
    return f"({writer.query(node)})"


def _constant(name: str) -> _Write:
    return lambda _node, _writer: f"{name}()"


_WRITERS: Mapping[type, _Write] = {
    exp.Literal: _literal,
    exp.Column: _column,
    exp.Identifier: lambda node, _: quoted(node.name),
    exp.Star: lambda _node, _writer: "*",
    exp.Boolean: lambda node, _: str(int(bool(node.this))),
    exp.Null: lambda _node, _writer: "NULL",
    exp.Introducer: lambda node, writer: writer.expression(node.expression),
    exp.Paren: lambda node, writer: f"({writer.expression(node.this)})",
    exp.Neg: lambda node, writer: f"(- {writer.expression(node.this)})",
    exp.Not: lambda node, writer: f"(NOT {writer.expression(node.this)})",
    exp.Add: _shift("+", 1),
    exp.Sub: _shift("-", -1),
    exp.Mul: _binary("*"),
    exp.Div: _divided,
    exp.IntDiv: lambda node, writer: f"CAST({_divided(node, writer)} AS INTEGER)",
    exp.Mod: lambda node, writer: f"MOD({writer.expression(node.this)}, {writer.expression(node.expression)})",
    exp.BitwiseAnd: _binary("&"),
    exp.BitwiseOr: _binary("|"),
    exp.And: _chain("AND"),
    exp.Or: _chain("OR"),
    exp.Xor: lambda node, writer: (
        f"((NOT {writer.expression(node.this)}) <> (NOT {writer.expression(node.expression)}))"
    ),
    exp.EQ: _comparison("="),
    exp.NEQ: _comparison("<>"),
    exp.LT: _comparison("<"),
    exp.LTE: _comparison("<="),
    exp.GT: _comparison(">"),
    exp.GTE: _comparison(">="),
    exp.NullSafeEQ: _comparison("IS"),
    exp.Is: _is,
    exp.Like: _like,
    exp.Escape: _escape,
    exp.In: _in,
    exp.Between: _between,
    exp.Case: _case,
    exp.If: _if,
    exp.Subquery: _subquery,
    exp.Select: _subquery,
    exp.Exists: lambda node, writer: f"EXISTS ({writer.query(node.this)})",
    exp.Tuple: lambda node, writer: f"({', '.join(map(writer.expression, node.expressions))})",
    exp.Distinct: calls.distinct,
    exp.Anonymous: calls.function,
    exp.CurrentDate: _constant("MY_TODAY"),
    exp.CurrentTime: _constant("MY_TIME"),
    exp.CurrentTimestamp: _constant("MY_NOW"),
    exp.Localtime: _constant("MY_NOW"),
    exp.Localtimestamp: _constant("MY_NOW"),
    exp.Concat: _adjacent,
    exp.Ceil: _rounded("CEIL"),
    exp.Floor: _rounded("FLOOR"),
    exp.Extract: calls.extract,
    exp.Substring: calls.substring,
    exp.StrPosition: calls.position,
    exp.Trim: calls.trim,
    exp.GroupConcat: calls.group_concat,
    exp.Cast: calls.cast,
    exp.Collate: calls.collate,
    exp.Window: calls.window,
}
