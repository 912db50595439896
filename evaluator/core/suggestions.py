"""Errors about unknown names, with the name that was probably meant."""

from collections.abc import Iterable

from evaluator.core.naming import similar_names

_LONGEST_NAME = 100


def likely_name(name: str, known: Iterable[str]) -> str:
    """The known name that was probably meant; empty if none is similar. Case does not matter.

    Args:
        name: as typed; its first 100 characters are compared.
        known: names.
    """
    by_fold: dict[str, str] = {}
    for each in known:
        by_fold.setdefault(each.casefold(), each)
    found = similar_names(name.strip().casefold(), by_fold)
    return by_fold[found[0]] if found else ""


def no_such(what: str, name: str, known: Iterable[str]) -> str:
    """An error in words: `there is no suite 'weahter'; did you mean 'weather'?`, or the known names if none is similar.

    Args:
        what: the noun, such as `suite`.
        name: as typed; the message has at most 100 characters of it.
        known: all names.
    """
    names = list(known)
    missing = f"there is no {what} {name[:_LONGEST_NAME]!r}"
    if likely := likely_name(name, names):
        return f"{missing}; did you mean {likely!r}?"
    return f"{missing}; there are: {', '.join(names) or 'none yet'}"


def as_sentence(clause: str) -> str:
    """A clause with a capital letter and a full stop, unless it ends as a sentence."""
    return f"{clause[:1].upper()}{clause[1:]}{'' if clause.endswith(('.', '?', '!')) else '.'}"
