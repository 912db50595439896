"""Lossless difference between the contents of two snapshots.

Successive contents are mostly equal: on a board of thousands of planners, a few ranks change. A difference is
zlib-compressed JSON:

    {"top": {...}, "runs": [[first, count], ...], "rows": {position: row}, "set": {field: [[position, value], ...]},
     "unset": {field: [position, ...]}}

`top` is everything but the rows. `runs` are ranges of positions in the base's rows, in the order of this content; a
`first` of -1 means `count` rows from `rows`, which have no counterpart. `set` and `unset` then change single fields.
"""

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Content = Mapping[str, Any]
_OWN = -1


def pack(content: Content, *, base: Content | None) -> bytes:
    """A content as its difference from a base, or whole without one."""
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
    difference = {
        "top": {name: value for name, value in content.items() if name != "rows"},
        "runs": list(_runs(positions)),
        "rows": {number: row for number, row in enumerate(rows) if positions[number] == _OWN},
        "set": changed,
        "unset": unset,
    }
    return zlib.compress(json.dumps(difference, separators=(",", ":")).encode())


def unpack(packed: bytes, *, base: Content | None) -> dict[str, Any]:
    """The inverse of `pack`, with the same base."""
    difference = json.loads(zlib.decompress(packed))
    others: Sequence[Mapping[str, Any]] = [] if base is None else base["rows"]
    rows: list[dict[str, Any]] = []
    for first, count in difference["runs"]:
        for number in range(count):
            rows.append(dict(difference["rows"][str(len(rows))] if first == _OWN else others[first + number]))
    for field, values in difference["set"].items():
        for number, value in values:
            rows[number][field] = value
    for field, numbers in difference["unset"].items():
        for number in numbers:
            del rows[number][field]
    return {**difference["top"], "rows": rows}


def _same(a: Any, b: Any) -> bool:
    # 1, 1.0 and true compare equal but have different digests.
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(value, b[name]) for name, value in a.items())
    if isinstance(a, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return bool(a == b)


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
