"""Expressions of MySQL in the SQL of SQLite. What has no writer here is refused by name."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import exp

from evaluator.lumos.sql.outcome import Reason, StatementError
from evaluator.lumos.sql.translation import calls
from evaluator.lumos.sql.translation.comparing import adapted
from evaluator.lumos.sql.translation.writing import Writer, only, quoted, refuse, text

_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


_ROW_NUMBERS = frozenset({"rowid", "oid", "_rowid_"})
"""Columns that SQLite has in every table, and MySQL has not."""
_Write = Callable[[Any, Writer], str]


def write_expression(node: exp.Expr, writer: Writer) -> str:
    """An expression in the SQL of SQLite.

    Raises:
        StatementError: something in it has no writer.
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
    """AND and OR, written flat: they may be long without being deep."""

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
    """A comparison with ANY or ALL: there is a row of which it is true, or none of which it is not."""
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


def _xor(node: exp.Binary, writer: Writer) -> str:
    return f"((NOT {writer.expression(node.this)}) <> (NOT {writer.expression(node.expression)}))"


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
    parts = [adapted(writer.expression(one), node=one, others=[node.this], kind_of=writer.kind_of) for one in values]
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
    for one in node.args["ifs"]:
        parts += ["WHEN", writer.expression(one.this), "THEN", writer.expression(one.args["true"])]
    if node.args.get("default") is not None:
        parts += ["ELSE", writer.expression(node.args["default"])]
    return " ".join([*parts, "END"])


def _if(node: exp.If, writer: Writer) -> str:
    if node.args.get("false") is None:
        raise StatementError(Reason.SYNTAX, "IF takes three arguments")
    parts = (writer.expression(one) for one in (node.this, node.args["true"], node.args["false"]))
    return "CASE WHEN {} THEN {} ELSE {} END".format(*parts)


def _adjacent(node: exp.Concat, _: Writer) -> str:
    """Texts side by side are one text."""
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


def _exists(node: exp.Exists, writer: Writer) -> str:
    return f"EXISTS ({writer.query(node.this)})"


def _tuple(node: exp.Tuple, writer: Writer) -> str:
    return f"({', '.join(map(writer.expression, node.expressions))})"


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
    exp.Xor: _xor,
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
    exp.Exists: _exists,
    exp.Tuple: _tuple,
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
