"""Scores of texts that say one thing only."""


def reading_score(text: str, reference: str) -> float:
    """How much of a writing was read: 1 - edit distance / length of the longer text, in [0, 1].

    Small and capital letters are the same, and so is any white space between words. 1 if both are empty.
    """
    said, right = (" ".join(one.casefold().split()) for one in (text, reference))
    longest = max(len(said), len(right))
    return 1.0 - edit_distance(said, right) / longest if longest else 1.0


def edit_distance(first: str, second: str) -> int:
    """Fewest characters to insert, delete or replace that make one text the other (Levenshtein, 1966)."""
    row = list(range(len(second) + 1))
    for count, character in enumerate(first, start=1):
        before, row = row, [count]
        for place, other in enumerate(second):
            row.append(min(before[place + 1] + 1, row[place] + 1, before[place] + (character != other)))
    return row[-1]
