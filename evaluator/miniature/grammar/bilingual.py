"""A text in both languages."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bilingual:
    """The same said in English and in German."""

    english: str
    german: str

    def in_language(self, language: str | None) -> str:
        """The text in `en` or `de`.

        Raises:
            LookupError: it is another language.
        """
        if language == "en":
            return self.english
        if language == "de":
            return self.german
        raise LookupError(f'the grammar speaks "en" and "de", not {language!r}')


def joined(parts: Iterable[Bilingual], *, separator: str = " ") -> Bilingual:
    """One text from several."""
    pairs = tuple(parts)
    return Bilingual(separator.join(p.english for p in pairs), separator.join(p.german for p in pairs))
