"""Choosing the fields of an answer."""

from typing import Any

from rest_framework.exceptions import ValidationError


class Selected:
    """For DRF's generic views: `?fields=id,state` gives only these fields of each row."""

    def get_serializer(self, *args: Any, **kwargs: Any) -> Any:
        serializer = super().get_serializer(*args, **kwargs)  # type: ignore[misc]  # a mixin of generic views
        request = self.request  # type: ignore[attr-defined]  # a mixin of generic views
        chosen = request.query_params.get("fields")
        if chosen is None or request.method not in {"GET", "HEAD"}:
            return serializer
        fields = getattr(serializer, "child", serializer).fields
        wanted = {name.strip() for name in chosen.split(",")}
        if unknown := sorted(wanted - set(fields)):
            raise ValidationError({"fields": [f"{unknown[0]!r} is none of: {', '.join(fields)}."]})
        for name in set(fields) - wanted:
            fields.pop(name)
        return serializer
