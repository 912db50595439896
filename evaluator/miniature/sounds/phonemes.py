"""Phonemes of English and how their sound is shaped, and the pronunciation of words.

Phonemes have their names in ARPAbet. Formants are those of Peterson and Barney, "Control Methods Used in a Study of the
Vowels" (1952), rounded; the rest was set by ear and spectrogram.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

Formants = tuple[int, int, int]
"""Resonances of the vocal tract in Hz."""


@dataclass(frozen=True, slots=True)
class Hiss:
    """The noise of a consonant."""

    centre: int
    """In Hz."""
    width: int
    """In Hz."""
    level: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Phone:
    """One phoneme."""

    milliseconds: int
    start: Formants
    end: Formants
    voice: float = 0.0
    """Level of the voice."""
    hiss: Hiss | None = None
    closure: float = 0.0
    """Share of the time for which the mouth is closed before the noise."""


_VOWELS: Mapping[str, Formants] = {
    "iy": (270, 2290, 3010), "ih": (390, 1990, 2550), "eh": (530, 1840, 2480), "ae": (660, 1720, 2410),
    "aa": (730, 1090, 2440), "ao": (570, 840, 2410), "uh": (440, 1020, 2240), "uw": (300, 870, 2240),
    "ah": (640, 1190, 2390), "er": (490, 1350, 1690),
}  # fmt: skip
_GLIDES = {
    "ey": ("eh", "iy"), "ay": ("aa", "ih"), "aw": ("aa", "uh"), "oy": ("ao", "ih"), "ow": ("ao", "uw"),
}  # fmt: skip
_LIQUIDS: Mapping[str, Formants] = {
    "l": (360, 1250, 2800), "r": (420, 1250, 1550), "w": (300, 650, 2200), "y": (280, 2250, 3050),
}  # fmt: skip
_NASALS: Mapping[str, Formants] = {"m": (260, 950, 2200), "n": (260, 1600, 2600), "ng": (260, 2250, 2750)}
_S, _SH, _F, _TH = Hiss(6200, 1600, 0.5), Hiss(3000, 1100, 0.5), Hiss(4300, 4500, 0.16), Hiss(5600, 3500, 0.12)
_FRICATIVES: Mapping[str, tuple[Hiss, float]] = {
    "s": (_S, 0.0), "z": (Hiss(6200, 1600, 0.25), 0.3), "sh": (_SH, 0.0), "zh": (Hiss(3000, 1100, 0.25), 0.3),
    "f": (_F, 0.0), "v": (Hiss(4300, 4500, 0.06), 0.35), "th": (_TH, 0.0), "dh": (Hiss(5600, 3500, 0.04), 0.4),
    "hh": (Hiss(1500, 1800, 0.14), 0.0),
}  # fmt: skip
_STOPS: Mapping[str, tuple[Hiss, float]] = {
    "p": (Hiss(900, 1000, 0.45), 0.0), "b": (Hiss(900, 1000, 0.3), 0.22), "t": (Hiss(4600, 2000, 0.5), 0.0),
    "d": (Hiss(4600, 2000, 0.3), 0.22), "k": (Hiss(2000, 700, 0.5), 0.0), "g": (Hiss(2000, 700, 0.3), 0.22),
    "ch": (_SH, 0.0), "jh": (Hiss(3000, 1100, 0.3), 0.22),
}  # fmt: skip
_NEUTRAL: Formants = (400, 1500, 2500)
_LOCI: Mapping[str, Formants] = {
    "p": (300, 900, 2300), "b": (300, 900, 2300), "f": (300, 1000, 2300), "v": (300, 1000, 2300),
    "k": (300, 2100, 2500), "g": (300, 2100, 2500), "sh": (300, 1900, 2600), "zh": (300, 1900, 2600),
    "ch": (300, 1900, 2600), "jh": (300, 1900, 2600), "hh": _NEUTRAL,
}  # fmt: skip
"""Where formants move to beside a consonant; towards 1750 Hz beside those made at the teeth."""
_DENTAL: Formants = (300, 1750, 2650)


def _phones() -> dict[str, Phone]:
    found = {name: Phone(milliseconds=130, start=at, end=at, voice=1.0) for name, at in _VOWELS.items()}
    for name, (first, last) in _GLIDES.items():
        found[name] = Phone(milliseconds=190, start=_VOWELS[first], end=_VOWELS[last], voice=1.0)
    for name, at in _LIQUIDS.items():
        found[name] = Phone(milliseconds=80, start=at, end=at, voice=0.6)
    for name, at in _NASALS.items():
        found[name] = Phone(milliseconds=85, start=at, end=at, voice=0.4)
    for name, (hiss, voice) in _FRICATIVES.items():
        at = _LOCI.get(name, _DENTAL)
        found[name] = Phone(milliseconds=95, start=at, end=at, voice=voice, hiss=hiss)
    for name, (hiss, voice) in _STOPS.items():
        at, rubs = _LOCI.get(name, _DENTAL), name in ("ch", "jh")
        found[name] = Phone(
            milliseconds=130 if rubs else 90, start=at, end=at, voice=voice, hiss=hiss, closure=0.45 if rubs else 0.65
        )
    return found


PAUSE = "|"
"""Between words."""
PHONES: Mapping[str, Phone] = MappingProxyType(
    {PAUSE: Phone(milliseconds=90, start=_NEUTRAL, end=_NEUTRAL), **_phones()}
)
"""By name; the pause is the first."""

WORDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        word: tuple(sounds.split())
        for word, sounds in tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8")).items()
    }
)
"""The words that a recogniser knows, with their phonemes. No other words share a pronunciation than those of `SAME`."""
SAME = ("to", "two")
"""Words of equal sound: the first of them is followed by `the`."""
_NUMBERS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
_TOKENS = re.compile(r"[a-z]+|[0-9]+")
_GRAPHEMES: tuple[tuple[str, str], ...] = (
    ("tion", "sh ah n"), ("igh", "ay"), ("ing", "ih ng"), ("tch", "ch"), ("ch", "ch"), ("sh", "sh"), ("th", "th"),
    ("ph", "f"), ("ck", "k"), ("ng", "ng"), ("qu", "k w"), ("wh", "w"), ("ee", "iy"), ("ea", "iy"), ("oo", "uw"),
    ("ou", "aw"), ("ow", "ow"), ("oy", "oy"), ("oi", "oy"), ("ai", "ey"), ("ay", "ey"), ("er", "er"), ("ar", "aa r"),
    ("or", "ao r"), ("ll", "l"), ("ss", "s"), ("tt", "t"), ("a", "ae"), ("b", "b"), ("c", "k"), ("d", "d"), ("e", "eh"),
    ("f", "f"), ("g", "g"), ("h", "hh"), ("i", "ih"), ("j", "jh"), ("k", "k"), ("l", "l"), ("m", "m"), ("n", "n"),
    ("o", "aa"), ("p", "p"), ("q", "k"), ("r", "r"), ("s", "s"), ("t", "t"), ("u", "ah"), ("v", "v"), ("w", "w"),
    ("x", "k s"), ("y", "iy"), ("z", "z"),
)  # fmt: skip
"""Spellings by their sounds, for words outside `WORDS`; the first that fits counts."""


def words_in(text: str) -> list[str]:
    """The words of a text in lower case, as they are spoken: numbers to twelve as words, others digit by digit."""
    words = []
    for token in _TOKENS.findall(text.lower()):
        if not token.isdigit():
            words.append(token)
        elif len(token) < 3 and int(token) < len(_NUMBERS):
            words.append(_NUMBERS[int(token)])
        else:
            words += [_NUMBERS[int(digit)] for digit in token]
    return words


@lru_cache(maxsize=4096)
def pronounced(word: str) -> tuple[str, ...]:
    """The phonemes of a word of `words_in`; of words outside `WORDS` by their spelling."""
    if word in WORDS:
        return WORDS[word]
    found: list[str] = []
    silent = len(word) - 1 if len(word) > 3 and word.endswith("e") else len(word)
    at = 0
    while at < silent:
        letters, sounds = next(pair for pair in _GRAPHEMES if word.startswith(pair[0], at))
        found += sounds.split()
        at += len(letters)
    return tuple(found)
