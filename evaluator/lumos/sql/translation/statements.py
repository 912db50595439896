"""Translation of read-only statements from MySQL to SQLite: SELECT, set operations, common tables, joins.

Only constructs with the same meaning in SQLite, or with a translation, are allowed.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

from sqlglot import exp

from evaluator.lumos.sql.outcome import Failure, Reason, StatementError
from evaluator.lumos.sql.schema import Kind, Schema
from evaluator.lumos.sql.translation.calls import order_by
from evaluator.lumos.sql.translation.expressions import write_expression
from evaluator.lumos.sql.translation.parsing import only, parse, quoted, refuse

MOST_TABLES = 40
"""Maximum number of tables that a statement reads. Each use of a common table expression counts with its tables."""
_OPERATORS = {exp.Union: "UNION", exp.Intersect: "INTERSECT", exp.Except: "EXCEPT"}
_JOINS = frozenset({"", "INNER", "CROSS", "OUTER", "STRAIGHT_JOIN"})


class StatementWriter:
    """Translates a statement on a database."""

    def __init__(self, *, schema: Schema, statement: exp.Expr) -> None:
        self.schema = schema
        self._tables: dict[str, set[str]] = {}
        for table in statement.find_all(exp.Table):
            self._tables.setdefault(table.alias_or_name.lower(), set()).add(table.name)
        self._common: dict[str, exp.Expr] = {}
        for cte in statement.find_all(exp.CTE):
            if cte.alias.lower() in self._common:
                raise StatementError(Reason.UNSUPPORTED, f"two common table expressions have the name {cte.alias[:60]}")
            self._common[cte.alias.lower()] = cte.this

    def statement(self, node: exp.Expr) -> str:
        """Translate a whole statement.

        Raises:
            StatementError: the statement does not only read, reads too many tables, or is unsupported.
        """
        if not isinstance(node, exp.Select | exp.SetOperation | exp.Subquery):
            name = type(node).__name__.upper() if not isinstance(node, exp.Command) else str(node.this).upper()[:40]
            raise StatementError(Reason.NOT_A_QUERY, f"only SELECT, SHOW and DESCRIBE can be executed here, not {name}")
        if sum(1 for _ in self._reads(node, within=frozenset())) > MOST_TABLES:
            raise StatementError(Reason.TOO_DEEP, f"the statement reads more than {MOST_TABLES} tables")
        return self.query(node)

    def expression(self, node: exp.Expr) -> str:
        return write_expression(node, self)

    def kind_of(self, column: exp.Column) -> Kind | None:
        aliases = [column.table.lower()] if column.table else list(self._tables)
        names = {name for alias in aliases for name in self._tables.get(alias, ())}
        return self.schema.kind_of(column.name, tables=names)

    def query(self, node: exp.Expr) -> str:
        if isinstance(node, exp.Subquery):
            return self._bracketed(node)
        if isinstance(node, exp.SetOperation):
            return self._set_operation(node)
        if isinstance(node, exp.Select):
            return self._select(node)
        raise refuse(node)

    def _reads(self, node: exp.Expr, *, within: frozenset[str]) -> Iterator[exp.Table]:
        """The tables that a query reads. Stops beyond the limit, because common tables may grow exponentially."""
        count = 0
        for table in node.find_all(exp.Table):
            if _is_inside_common_table(table, root=node):
                continue
            name = table.name.lower()
            inner = self._common.get(name)
            expanded = () if inner is None or name in within else self._reads(inner, within=within | {name})
            for read in chain([table], expanded):
                yield read
                count += 1
                if count > MOST_TABLES:
                    return

    def _bracketed(self, node: exp.Subquery) -> str:
        """A query in brackets, optionally followed by an order or a limit."""
        only(node, "this", "with_", "order", "limit", "offset")
        tail = self._tail(node)
        inner = self.query(node.this)
        return f"{self._with(node)}SELECT * FROM ({inner}){tail}" if tail or node.args.get("with_") else inner  # noqa: S608

    def _set_operation(self, node: exp.SetOperation) -> str:
        only(node, "this", "expression", "distinct", "with_", "order", "limit", "offset")
        operator = _OPERATORS[type(node)]
        if not node.args.get("distinct"):
            if operator != "UNION":
                raise refuse(node, what=f"{operator} ALL")
            operator = "UNION ALL"
        left, right = self._operand(node.this, is_left=True), self._operand(node.expression, is_left=False)
        return f"{self._with(node)}{left} {operator} {right}{self._tail(node)}"

    def _operand(self, node: exp.Expr, *, is_left: bool) -> str:
        """An operand of a set operation. SQLite allows no brackets here, and is left-associative."""
        inner = node
        while isinstance(inner, exp.Subquery) and not _has_tail(inner):
            inner = inner.this
        written = self.query(inner)
        is_simple = isinstance(inner, exp.Select) or (is_left and isinstance(inner, exp.SetOperation))
        return written if is_simple and not _has_tail(inner) else f"SELECT * FROM ({written})"  # noqa: S608

    def _select(self, node: exp.Select) -> str:
        only(
            node, "with_", "expressions", "distinct", "from_", "joins", "where", "group", "having", "order", "limit",
            "offset", "operation_modifiers", "locks", "hint",
        )  # fmt: skip
        distinct = node.args.get("distinct")
        if distinct is not None and (distinct.args.get("on") or distinct.expressions):
            raise refuse(distinct, what="DISTINCT ON")
        parts = ["SELECT DISTINCT" if distinct is not None else "SELECT"]
        columns = [
            f"{self.expression(column.this)} AS {quoted(column.alias)}"
            if isinstance(column, exp.Alias)
            else self.expression(column)
            for column in node.expressions
        ]
        parts.append(", ".join(columns))
        parts += self._sources(node)
        for name, words in (("where", "WHERE"), ("having", "HAVING")):
            if name == "having" and node.args.get("group"):
                only(node.args["group"], "expressions")
                parts.append(f"GROUP BY {', '.join(map(self.expression, node.args['group'].expressions))}")
            if node.args.get(name):
                parts.append(f"{words} {self.expression(node.args[name].this)}")
        return f"{self._with(node)}{' '.join(parts)}{self._tail(node)}"

    def _sources(self, node: exp.Select) -> list[str]:
        source = node.args.get("from_")
        if source is None:
            return []
        only(source, "this")
        if isinstance(source.this, exp.Table) and source.this.name.lower() == "dual" and not node.args.get("joins"):
            return []
        return ["FROM", self._source(source.this), *(self._join(join) for join in node.args.get("joins") or ())]

    def _source(self, node: exp.Expr) -> str:
        """A table, a query in brackets, or joined tables in brackets."""
        if isinstance(node, exp.Table):
            written = self._table(node)
        elif isinstance(node, exp.Subquery):
            only(node, "this", "alias", "joins")
            is_query = isinstance(node.this, exp.Select | exp.SetOperation | exp.Subquery)
            written = f"({self.query(node.this) if is_query else self._source(node.this)}){_alias(node)}"
        else:
            raise refuse(node)
        return " ".join([written, *(self._join(join) for join in node.args.get("joins") or ())])

    def _table(self, node: exp.Table) -> str:
        only(node, "this", "db", "alias", "joins", "hints")
        if not isinstance(node.this, exp.Identifier):
            raise refuse(node, what="a function in place of a table")
        database = node.db.lower()
        if database == "information_schema":
            raise StatementError(
                Reason.UNSUPPORTED, "information_schema is not available here; use SHOW TABLES and DESCRIBE"
            )
        if database and database != self.schema.name.lower():
            raise StatementError(
                Reason.UNKNOWN_NAME, f"only the database {self.schema.name} can be read, not {node.db[:60]}"
            )
        if (database or node.name.lower() not in self._common) and self.schema.table(node.name) is None:
            tables = ", ".join(self.schema.tables)
            raise StatementError(Reason.UNKNOWN_NAME, f"there is no table {node.name[:60]!r}; there are: {tables}")
        return quoted(node.name) + _alias(node)

    def _join(self, node: exp.Join) -> str:
        only(node, "this", "method", "side", "kind", "on", "using")
        method, side, kind = (str(node.args.get(name) or "").upper() for name in ("method", "side", "kind"))
        if method not in ("", "NATURAL") or side not in ("", "LEFT", "RIGHT") or kind not in _JOINS:
            raise refuse(node, what=" ".join(filter(None, (method, side, kind, "JOIN"))))
        words = " ".join(filter(None, (method, side, "JOIN")))
        written = f"{words} {self._source(node.this)}"
        if node.args.get("on"):
            return f"{written} ON {self.expression(node.args['on'])}"
        if node.args.get("using"):
            return f"{written} USING ({', '.join(quoted(column.name) for column in node.args['using'])})"
        return written

    def _with(self, node: exp.Expr) -> str:
        clause = node.args.get("with_")
        if clause is None:
            return ""
        only(clause, "expressions", "recursive")
        tables = []
        for cte in clause.expressions:
            only(cte, "this", "alias", "recursive")
            columns = [quoted(column.name) for column in cte.args["alias"].columns]
            heading = quoted(cte.alias) + (f" ({', '.join(columns)})" if columns else "")
            tables.append(f"{heading} AS ({self.query(cte.this)})")
        return f"WITH {'RECURSIVE ' if clause.args.get('recursive') else ''}{', '.join(tables)} "

    def _tail(self, node: exp.Expr) -> str:
        """ORDER BY and LIMIT, each preceded by a space."""
        written = f" {order_by(node.args['order'], self)}" if node.args.get("order") else ""
        for name in ("limit", "offset"):
            clause = node.args.get(name)
            if clause is not None:
                only(clause, "expression")
                number = clause.expression
                if not isinstance(number, exp.Literal) or not str(number.this).isdecimal() or len(number.this) > 18:
                    raise StatementError(Reason.SYNTAX, f"{name.upper()} takes a whole number")
                written += f" {name.upper()} {number.this}"
        return written


def _alias(node: exp.Expr) -> str:
    alias = node.args.get("alias")
    if alias is None:
        return ""
    only(alias, "this")
    return f" AS {quoted(alias.name)}"


def _has_tail(node: exp.Expr) -> bool:
    return any(node.args.get(name) for name in ("with_", "order", "limit", "offset", "alias"))


def _is_inside_common_table(node: exp.Expr, *, root: exp.Expr) -> bool:
    """Whether a node is in a common table expression below the root."""
    while node is not root and node.parent is not None:
        if isinstance(node, exp.CTE):
            return True
        node = node.parent
    return False


_LONGEST_CACHED = 1_000


class Translator:
    """Translates statements on a database, with an LRU cache."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._cached = lru_cache(maxsize=256)(self._translate)

    def translate(self, text: str) -> str:
        """Translate a statement from MySQL to SQLite.

        Raises:
            StatementError: the statement cannot be parsed, is not supported, or does not only read.
        """
        translation = self._cached(text) if len(text) <= _LONGEST_CACHED else self._translate(text)
        if isinstance(translation, Failure):
            raise StatementError(translation.reason, translation.message)
        return translation

    def _translate(self, text: str) -> str | Failure:
        try:
            statement = parse(text)
            return StatementWriter(schema=self._schema, statement=statement).statement(statement)
        except StatementError as error:
            return error.failure
        except RecursionError:
            return Failure(reason=Reason.TOO_DEEP, message="the statement is nested too deeply")
