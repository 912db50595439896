"""The singular of English nouns, by their endings and a list of irregular ones."""

_IRREGULAR = {
    "people": "person", "men": "man", "women": "woman", "children": "child", "mice": "mouse", "geese": "goose",
    "feet": "foot", "teeth": "tooth", "knives": "knife", "wolves": "wolf", "leaves": "leaf", "shelves": "shelf",
    "loaves": "loaf", "calves": "calf", "scarves": "scarf", "oxen": "ox", "skis": "skis", "buses": "bus",
    "movies": "movie", "cookies": "cookie", "ties": "tie", "pies": "pie", "horses": "horse", "vases": "vase",
    "houses": "house", "roses": "rose", "noses": "nose", "cases": "case", "suitcases": "suitcase",
    "toothbrushes": "toothbrush", "axes": "axe", "sunglasses": "sunglasses", "scissors": "scissors",
    "zombies": "zombie", "selfies": "selfie", "mouses": "mouse", "geniuses": "genius",
}  # fmt: skip
_KEPT = ("ss", "us", "is")
_LEAST = 3


def singular(words: str) -> str:
    """A noun with what stands before it, in the singular; words that are no plural stay as they are."""
    before, _, last = words.rpartition(" ")
    single = _single(last)
    return f"{before} {single}" if before else single


def _single(word: str) -> str:
    lower = word.lower()
    if lower in _IRREGULAR:
        return _IRREGULAR[lower]
    if len(word) <= _LEAST or not lower.endswith("s") or lower.endswith(_KEPT):
        return word
    if lower.endswith("ies"):
        return f"{word[:-3]}y"
    if lower.endswith(("ches", "shes", "sses", "xes", "zzes", "oes")):
        return word[:-2]
    return word[:-1]
