"""Known defects of InterCode's SQL tasks, by index. What a board does with them is its matter."""

from collections.abc import Mapping
from enum import StrEnum


class Defect(StrEnum):
    """A kind of defect of a task's gold query."""

    REFUSED = "refused"
    """MySQL 8 cannot read it: a table named by the reserved word SHOW, a derived table without a name, `COUNT (*)`."""
    REFUSED_STRICT = "refused_strict"
    """MySQL refuses it by its default ONLY_FULL_GROUP_BY: it selects or orders by what the groups do not determine."""
    ARBITRARY = "arbitrary"
    """Its rows depend on the engine: ties at a LIMIT, or a column that the groups do not determine."""
    EMPTY = "empty"
    """It has no rows, so every statement without rows has the full reward. Most are on tables without rows."""


DEFECTS: Mapping[Defect, frozenset[int]] = {
    Defect.REFUSED: frozenset({164, 178, 225, 531, 638, 802}),
    Defect.REFUSED_STRICT: frozenset({54, 83, 271, 301, 525, 704, 710, 798, 803, 850, 892, 942, 967}),
    Defect.ARBITRARY: frozenset(
        {
            30, 50, 110, 129, 198, 349, 406, 484, 525, 569, 722, 738, 790, 803, 811, 842, 850, 871, 916, 964,
        }
    ),
    Defect.EMPTY: frozenset(
        {
            17, 19, 74, 75, 80, 81, 94, 106, 109, 115, 174, 210, 240, 255, 258, 271, 279, 282, 288, 299, 306, 313, 344,
            359, 371, 382, 387, 395, 401, 405, 418, 428, 436, 463, 472, 495, 497, 509, 522, 534, 547, 559, 581, 596,
            613, 641, 651, 655, 671, 686, 688, 692, 698, 704, 717, 725, 750, 770, 771, 787, 795, 824, 834, 853, 875,
            892, 898, 909, 917, 920, 921, 937, 941, 942, 944, 945, 972, 975, 997, 1032,
        }
    ),
}  # fmt: skip
"""Found by executing all gold queries on MariaDB 10.11 and here; `REFUSED_STRICT` from the keys of the tables."""


def defects_of(index: int) -> tuple[Defect, ...]:
    """The defects of a task."""
    return tuple(defect for defect, indices in DEFECTS.items() if index in indices)
