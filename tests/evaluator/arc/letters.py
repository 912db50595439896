"""Grids written as words: `grid("a.b", "...")` is two rows of three cells."""


def grid(*rows: str) -> list[list[str]]:
    return [list(row) for row in rows]


def obj(tl: tuple[int, int], *rows: str) -> dict[str, object]:
    return {"tl": tl, "grid": grid(*rows)}
