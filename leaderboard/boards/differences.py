"""The content of one snapshot as its difference from another's, losslessly. Pure.

Most of two successive contents is equal: the rows of a board of thousands of planners differ in a rank here and there.
A difference is JSON, compressed by zlib:

    {"top": {...}, "runs": [[first, count], ...], "rows": {position: row}, "set": {field: [[position, value], ...]},
     "unset": {field: [position, ...]}}

`top` is everything but the rows. `runs` are positions in the other content's rows, in the order of this content; a
first of -1 stands for so many rows of `rows`, which have no counterpart. `set` and `unset` change fields of these rows.
"""

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Content = Mapping[str, Any]
_OWN = -1


def pack(content: Content, *, base: Content | None) -> bytes:
    """A content, as its difference from a base if there is one."""
    rows: Sequence[Mapping[str, Any]] = content["rows"]
    others: Sequence[Mapping[str, Any]] = [] if base is None else base["rows"]
    position_of = {row["evaluation"]: position for position, row in enumerate(others)}
    positions = [position_of.get(row["evaluation"], _OWN) for row in rows]
    changed: dict[str, list[tuple[int, Any]]] = {}
    unset: dict[str, list[int]] = {}
    for number, (row, position) in enumerate(zip(rows, positions, strict=True)):
        if position == _OWN:
            continue
        other = others[position]
        for field, value in row.items():
            if field not in other or not _same(other[field], value):
                changed.setdefault(field, []).append((number, value))
        for field in other.keys() - row.keys():
            unset.setdefault(field, []).append(number)
    found = {
        "top": {name: value for name, value in content.items() if name != "rows"},
        "runs": list(_runs(positions)),
        "rows": {number: row for number, row in enumerate(rows) if positions[number] == _OWN},
        "set": changed,
        "unset": unset,
    }
    return zlib.compress(json.dumps(found, separators=(",", ":")).encode())


def unpack(packed: bytes, *, base: Content | None) -> dict[str, Any]:
    """The content that `pack` was given, with the same base."""
    found = json.loads(zlib.decompress(packed))
    others: Sequence[Mapping[str, Any]] = [] if base is None else base["rows"]
    rows: list[dict[str, Any]] = []
    for first, count in found["runs"]:
        for number in range(count):
            rows.append(dict(found["rows"][str(len(rows))] if first == _OWN else others[first + number]))
    for field, values in found["set"].items():
        for number, value in values:
            rows[number][field] = value
    for field, numbers in found["unset"].items():
        for number in numbers:
            del rows[number][field]
    return {**found["top"], "rows": rows}


def _same(one: Any, other: Any) -> bool:
    # 1, 1.0 and true are equal, and have different digests.
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(value, other[name]) for name, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _runs(positions: Sequence[int]) -> Iterator[tuple[int, int]]:
    first, count = _OWN, 0
    for position in positions:
        if count and position == (_OWN if first == _OWN else first + count):
            count += 1
            continue
        if count:
            yield first, count
        first, count = position, 1
    if count:
        yield first, count
