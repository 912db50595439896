"""Translation of calls of MySQL's functions, conversions and windows."""

import re

from sqlglot import exp

from evaluator.lumos.sql import collation
from evaluator.lumos.sql.functions.scalars import BUILT_IN
from evaluator.lumos.sql.functions.session import CALLABLE
from evaluator.lumos.sql.outcome import Reason, StatementError
from evaluator.lumos.sql.schema import Kind
from evaluator.lumos.sql.translation.parsing import Writer, only, quoted, refuse, text

_WORD = re.compile(r"\w+")
_INTEGERS = frozenset(
    {exp.DType.INT, exp.DType.UINT, exp.DType.BIGINT, exp.DType.UBIGINT, exp.DType.SMALLINT, exp.DType.TINYINT}
)
_TEXTS = frozenset({exp.DType.CHAR, exp.DType.NCHAR, exp.DType.VARCHAR, exp.DType.TEXT})
_ADDITIONS = {"DATE_ADD": 1, "ADDDATE": 1, "DATE_SUB": -1, "SUBDATE": -1}
_SYNONYMS = {
    "NOW": "MY_NOW", "CURDATE": "MY_TODAY", "CURTIME": "MY_TIME", "CURRENT_TIMESTAMP": "MY_NOW", "LOCALTIME": "MY_NOW",
    "LOCALTIMESTAMP": "MY_NOW", "SYSDATE": "MY_NOW", "SUBSTRING": "SUBSTR",
}  # fmt: skip


def with_interval(date: exp.Expr, *, interval: exp.Expr, sign: int, writer: Writer) -> str:
    unit = interval.args.get("unit")
    if not isinstance(unit, exp.Var) or interval.this is None:
        raise refuse(interval)
    return f"MY_SHIFTED({writer.expression(date)}, {sign} * {writer.expression(interval.this)}, {text(unit.name)})"


def distinct(node: exp.Distinct, writer: Writer) -> str:
    only(node, "expressions")
    if len(node.expressions) == 1:
        return f"DISTINCT {writer.expression(node.expressions[0])}"
    return f"DISTINCT MY_TUPLE({', '.join(map(writer.expression, node.expressions))})"


def function(node: exp.Anonymous, writer: Writer) -> str:
    name = node.name.upper()
    name = _SYNONYMS.get(name, name)
    arguments = node.expressions
    if name in _ADDITIONS and len(arguments) == 2 and isinstance(arguments[1], exp.Interval):
        return with_interval(arguments[0], interval=arguments[1], sign=_ADDITIONS[name], writer=writer)
    if name not in CALLABLE or not _WORD.fullmatch(name):
        raise StatementError(Reason.UNSUPPORTED, f"the function {node.name[:60]} is not available here")
    if name in ("MAX", "MIN") and len(arguments) != 1:
        raise StatementError(Reason.SYNTAX, f"{name} takes one argument; GREATEST and LEAST take several")
    kinds = [writer.kind_of(argument) if isinstance(argument, exp.Column) else None for argument in arguments]
    if name in ("SUM", "AVG") and kinds in ([Kind.DATE], [Kind.MOMENT]):
        return f"{name}(MY_DATE_NUMBER({writer.expression(arguments[0])}))"
    if name == "TIMESTAMPDIFF" and arguments and isinstance(arguments[0], exp.Column):
        arguments = [exp.Literal.string(arguments[0].name), *arguments[1:]]
    if name.startswith("MY_"):
        arguments = []
    return f"{name if name in BUILT_IN else quoted(name)}({', '.join(map(writer.expression, arguments))})"


def extract(node: exp.Extract, writer: Writer) -> str:
    name = node.this.name.upper()
    if name not in ("YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"):
        raise refuse(node, what=f"EXTRACT of {name[:40]}")
    return f"{name}({writer.expression(node.expression)})"


def substring(node: exp.Substring, writer: Writer) -> str:
    parts = [node.this, node.args.get("start"), node.args.get("length")]
    return f"SUBSTR({', '.join(writer.expression(part) for part in parts if part is not None)})"


def position(node: exp.StrPosition, writer: Writer) -> str:
    only(node, "this", "substr", "position")
    parts = [node.args["substr"], node.this, node.args.get("position")]
    return f"LOCATE({', '.join(writer.expression(part) for part in parts if part is not None)})"


def trim(node: exp.Trim, writer: Writer) -> str:
    only(node, "this", "position", "expression")
    piece = writer.expression(node.expression) if node.args.get("expression") else "' '"
    return f"MY_TRIM({writer.expression(node.this)}, {piece}, {text(str(node.args.get('position') or 'BOTH').upper())})"


def group_concat(node: exp.GroupConcat, writer: Writer) -> str:
    only(node, "this", "separator")
    inner, order = node.this, ""
    if isinstance(inner, exp.Order):
        for term in inner.expressions:
            order += f", {writer.expression(term.this)}, {int(bool(term.args.get('desc')))}"
        inner = inner.this
    is_distinct = isinstance(inner, exp.Distinct)
    values = inner.expressions if is_distinct else [inner]
    value = writer.expression(values[0]) if len(values) == 1 else f"CONCAT({', '.join(map(writer.expression, values))})"
    separator = writer.expression(node.args["separator"]) if node.args.get("separator") else "','"
    return f"MY_GROUP_CONCAT({int(is_distinct)}, {separator}, {value}{order})"


def cast(node: exp.Cast, writer: Writer) -> str:
    only(node, "this", "to")
    written, target = writer.expression(node.this), node.to
    kind = target.this
    if kind in _INTEGERS:
        return f"MY_SIGNED({written})"
    if kind in _TEXTS:
        return f"MY_TEXT({written})"
    if kind is exp.DType.DECIMAL:
        digits = target.expressions[1].name if len(target.expressions) > 1 else "0"
        return f"MY_DECIMAL({written}, {int(digits) if digits.isdecimal() else 0})"
    if kind in (exp.DType.DOUBLE, exp.DType.FLOAT):
        return f"CAST({written} AS REAL)"
    if kind is exp.DType.DATE:
        return f"DATE({written})"
    if kind in (exp.DType.DATETIME, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ):
        return f"TIMESTAMP({written})"
    if kind in (exp.DType.BINARY, exp.DType.VARBINARY):
        return f"({written} COLLATE BINARY)"
    raise refuse(node, what=f"a conversion to {target.sql()[:40]}")


def collate(node: exp.Collate, writer: Writer) -> str:
    name = node.expression.name.lower()
    is_binary = name.endswith(("_bin", "_cs")) or name == "binary"
    return f"({writer.expression(node.this)} COLLATE {'BINARY' if is_binary else collation.NAME})"


def order_by(node: exp.Order, writer: Writer) -> str:
    """ORDER BY with its terms."""
    only(node, "expressions")
    terms = []
    for term in node.expressions:
        only(term, "this", "desc", "nulls_first")
        terms.append(f"{writer.expression(term.this)} {'DESC' if term.args.get('desc') else 'ASC'}")
    return f"ORDER BY {', '.join(terms)}"


def window(node: exp.Window, writer: Writer) -> str:
    only(node, "this", "partition_by", "order", "spec", "over")
    parts = []
    if node.args.get("partition_by"):
        parts.append(f"PARTITION BY {', '.join(map(writer.expression, node.args['partition_by']))}")
    if node.args.get("order"):
        parts.append(order_by(node.args["order"], writer))
    if node.args.get("spec"):
        parts.append(_frame(node.args["spec"], writer))
    return f"{writer.expression(node.this)} OVER ({' '.join(parts)})"


def _frame(node: exp.WindowSpec, writer: Writer) -> str:
    only(node, "kind", "start", "start_side", "end", "end_side")
    ends = []
    for name in ("start", "end"):
        end, side = node.args.get(name), str(node.args.get(f"{name}_side") or "").upper()
        if end is not None and side in ("", "PRECEDING", "FOLLOWING"):
            ends.append(f"{end if isinstance(end, str) else writer.expression(end)} {side}".strip())
    kind = str(node.args.get("kind")).upper()
    if kind not in ("ROWS", "RANGE") or not ends:
        raise refuse(node, what="this frame of a window")
    for end in ends:
        if not re.fullmatch(r"CURRENT ROW|(?:UNBOUNDED|\d+) (?:PRECEDING|FOLLOWING)", end):
            raise refuse(node, what="this frame of a window")
    return f"{kind} " + (f"BETWEEN {ends[0]} AND {ends[1]}" if len(ends) == 2 else ends[0])
