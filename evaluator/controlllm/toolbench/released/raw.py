"""A request of Tool100, Tool2K or toolmini as its file gives it, before anything is derived."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RawTask:
    """One entry. Texts are kept as they are, with all their defects."""

    key: str
    """`<group>/<index in the group>` for Tool100 and toolmini, `<index>` for Tool2K."""
    group: str
    """The file's `type`, such as `image_detection` or `image_QA,count_object`."""
    instruction: str
    output: str | None
    """The gold task decomposition, `<Solution>[...]</Solution>`, or None where the file has none."""
    level: str | None
    """`easy`, `medium`, `hard`, or None where the file does not say."""
    deprecated: bool = False
