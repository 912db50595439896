"""What a migration may not do while processes of the release before use the tables. Pure."""

import re
from collections.abc import Iterable, Iterator

from django.contrib.postgres.operations import AddConstraintNotValid, AddIndexConcurrently
from django.db.migrations.operations import (
    AddConstraint,
    AddField,
    AddIndex,
    AlterField,
    AlterModelTable,
    CreateModel,
    DeleteModel,
    RemoveField,
    RenameField,
    RenameModel,
    RunPython,
    RunSQL,
    SeparateDatabaseAndState,
)  # fmt: skip
from django.db.migrations.operations.base import Operation
from django.db.models import NOT_PROVIDED, Field

_REMOVING = (RemoveField, DeleteModel, RenameField, RenameModel, AlterModelTable)
_BREAKING_SQL = re.compile(
    r"\bDROP\s+(COLUMN|TABLE)\b|\bSET\s+NOT\s+NULL\b|\bRENAME\b|\bTYPE\b|^\s*(UPDATE|DELETE\s+FROM|TRUNCATE)\b",
    re.IGNORECASE | re.MULTILINE,
)


def refusals(operations: Iterable[Operation], *, new_models: set[str], nullable: set[tuple[str, str]]) -> Iterator[str]:
    """Why operations do not suit the release before.

    Args:
        operations: of one migration, in order.
        new_models: models, in lower case, that the release before does not know; those created here are added.
        nullable: models and fields that may be null before the migration.
    """
    for operation in operations:
        if isinstance(operation, SeparateDatabaseAndState):
            yield from refusals(operation.database_operations, new_models=new_models, nullable=nullable)
        elif isinstance(operation, CreateModel):
            new_models.add(operation.name_lower)
        elif getattr(operation, "model_name", "").lower() not in new_models:
            reason = _refusal(operation, nullable=nullable)
            if reason:
                yield f"{operation.describe()}: {reason}"


def _refusal(operation: Operation, *, nullable: set[tuple[str, str]]) -> str:
    match operation:
        case _ if isinstance(operation, _REMOVING):
            return "the release before still uses it"
        case AddField() if not _may_be_left_out(operation.field):
            return "the release before inserts rows without it: give it a db_default or null=True"
        case AlterField() if (
            operation.model_name_lower,
            operation.name_lower,
        ) in nullable and not operation.field.null:
            return "the release before may write null"
        case AddIndex() if not isinstance(operation, AddIndexConcurrently):
            return "locks out writers: use AddIndexConcurrently"
        case AddConstraint() if not isinstance(operation, AddConstraintNotValid):
            return "locks the table while it reads all rows: use AddConstraintNotValid, then ValidateConstraint"
        case RunPython():
            return "holds its locks until it ends: write a command that can be interrupted"
        case RunSQL() if _BREAKING_SQL.search(str(operation.sql)):
            return "the release before does not expect it"
    return ""


def _may_be_left_out(field: Field) -> bool:  # type: ignore[type-arg]
    return bool(field.null or field.many_to_many or field.db_default is not NOT_PROVIDED)
