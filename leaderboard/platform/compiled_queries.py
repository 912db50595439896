"""Queries with many joins on hot paths, whose SQL is compiled once per process.

Four queries justify it: the lease of a shard, which takes 5.6 ms of CPU time in Django and 0.6 ms here (on a busy
machine), the lock of an attempt (4.2 and 0.6), the session of a worker (1.9 and 0.2), and the evaluation of a page
(13.8 and 0.7). A worker needs the first three for each shard. Only values may differ between calls: anything that
changes the shape of the SQL is another query. Django has no public interface for this.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import UUID, uuid4

from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models import Model, QuerySet
from django.db.models.query import get_related_populators
from django.db.transaction import TransactionManagementError

M = TypeVar("M", bound=Model)
_STAND_INS: Mapping[type, Callable[[], Any]] = {
    UUID: uuid4,
    int: lambda: 2**29 + secrets.randbelow(2**29),
    str: lambda: secrets.token_hex(16),
}


def one_row(
    cursor: CursorWrapper, *, sql: str, parameters: Sequence[Any] | Mapping[str, Any], joined_as_written: bool
) -> tuple[Any, ...] | None:
    """The first row of a statement's result.

    Args:
        cursor: of the current connection.
        sql: the statement.
        parameters: its values.
        joined_as_written: whether PostgreSQL joins tables in the order of the statement, until the end of the
            transaction if there is one. Planning all orders of eight tables takes a millisecond, with the same result.
    """
    if not joined_as_written:
        cursor.execute(sql, parameters)
    else:
        # In one message, which is a transaction by itself outside of one. Reset at its end, as poolers require.
        cursor.execute(f"SET LOCAL join_collapse_limit = 1; {sql}", parameters)
        cursor.nextset()
    row: tuple[Any, ...] | None = cursor.fetchone()
    return row


class _Compiled(NamedTuple):
    """The compiled form of a query."""

    sql: str
    parameters: tuple[Any, ...]
    names: dict[int, str]
    """Names of the caller's values, by position."""
    model: type[Model]
    columns: slice
    attributes: Sequence[str]
    """Attributes of the model, in column order."""
    annotations: dict[str, int]
    populators: Sequence[Any]
    converters: Sequence[tuple[int, Sequence[Callable[..., Any]], Any]]


class CompiledQuery(Generic[M]):
    """A query for instances, with `select_related` and annotations.

    Args:
        build: builds the query from the variable values.
        as_written: whether to join tables in the order of `build`, as queries that lock rows always do.
        values: types of the variable values, by name.
    """

    def __init__(
        self,
        build: Callable[..., QuerySet[M]],
        *,
        as_written: bool = False,
        **values: type[UUID] | type[int] | type[str],
    ) -> None:
        self._build, self._values, self._as_written = build, values, as_written
        self._compiled: _Compiled | None = None
        self._locks = False
        self._lock = Lock()

    def first(self, **values: Any) -> M | None:
        """The first instance, or None.

        Raises:
            TransactionManagementError: the query locks rows, and there is no transaction.
        """
        with self._lock:
            compiled = self._compiled = self._compiled or self._compile()
        if self._locks and connection.get_autocommit():
            raise TransactionManagementError("select_for_update cannot be used outside of a transaction.")
        parameters = [
            values[compiled.names[position]] if position in compiled.names else value
            for position, value in enumerate(compiled.parameters)
        ]
        as_written = self._locks or self._as_written
        with connection.cursor() as cursor:
            row = one_row(cursor, sql=compiled.sql, parameters=parameters, joined_as_written=as_written)
        return None if row is None else self._instance(compiled, row=list(row))

    def _compile(self) -> _Compiled:
        # Unique values, which distinguishes them from the query's own constants.
        stand_ins = {name: _STAND_INS[kind]() for name, kind in self._values.items()}
        query = self._build(**stand_ins)[:1].query
        self._locks = query.select_for_update
        compiler = query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        names = {at: name for at, value in enumerate(parameters) for name in stand_ins if value == stand_ins[name]}
        assert set(names.values()) == set(stand_ins), "every value is in the query"
        info: Any = compiler.klass_info
        columns = slice(info["select_fields"][0], info["select_fields"][-1] + 1)
        select: Any = compiler.select
        converters = compiler.get_converters([column for column, *_ in select])
        return _Compiled(
            sql=sql,
            parameters=tuple(parameters),
            names=names,
            model=info["model"],
            columns=columns,
            attributes=[column.target.attname for column, *_ in select[columns]],
            annotations=dict(compiler.annotation_col_map or {}),
            populators=get_related_populators(info, select, connection.alias),  # type: ignore[call-arg]  # of Django 6.1
            converters=[(at, *converter) for at, converter in converters.items()],
        )

    def _instance(self, compiled: _Compiled, *, row: list[Any]) -> M:
        for at, converters, expression in compiled.converters:
            for convert in converters:
                row[at] = convert(row[at], expression, connection)
        instance: Any = compiled.model.from_db(connection.alias, compiled.attributes, row[compiled.columns])
        for populator in compiled.populators:
            populator.populate(row, instance)
        for name, at in compiled.annotations.items():
            setattr(instance, name, row[at])
        return instance  # type: ignore[no-any-return]
