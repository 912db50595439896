"""A closed corpus of articles: `KnowledgeQuery` finds an article, `ParagraphRetrieve` its paragraphs for a query.

Ranking is BM25 (Robertson and Zaragoza, 2009; k1 = 1.5, b = 0.75) with the library bm25s, over lower-case words without
endings for number and tense. Ties keep the order of the corpus, so that results are deterministic. An operator may have
paragraphs ranked by embeddings instead (`evaluator.lumos.retrieval.dense`).
"""

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from evaluator.core import canonical_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

VERSION = 1
"""Version of the ranking; increase it when the results of a query may change."""
MAX_QUERY = 1_000
"""Maximum length of a query; the rest is ignored."""
_WORD = re.compile(r"\w+")
_COMMON = frozenset(
    [
        "a", "an", "the", "of", "in", "on", "at", "to", "for", "from", "by", "with", "and", "or", "is", "are", "was",
        "were", "be", "been", "do", "does", "did", "has", "have", "had", "it", "its", "this", "that", "these",
        "those", "he", "she", "they", "his", "her", "their", "as", "what", "which", "who", "whom", "whose", "where",
        "when", "how", "many", "much",
    ]
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Article:
    """An article with its paragraphs in order."""

    title: str
    paragraphs: tuple[str, ...]


class RankingError(Exception):
    """Texts cannot be ranked, by no fault of the query. The message is a sentence."""


class Ranker(Protocol):
    """Ranks texts. Not thread-safe."""

    def best(self, query: str, *, count: int) -> tuple[int, ...]:
        """Indices of at most `count` texts, best first, without those that do not match at all.

        Raises:
            RankingError: a model cannot be loaded.
        """
        ...


class Ranking:
    """Ranks texts by BM25."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = tuple(texts)

    def best(self, query: str, *, count: int) -> tuple[int, ...]:
        """Indices of at most `count` texts that share a word with the query, best first."""
        words = words_of(query[:MAX_QUERY])
        if not words or not self._texts:
            return ()
        known = [word for word in words if word in self._index.vocab_dict]
        if not known:
            return ()
        # Rounding removes differences by the order of additions; a stable sort keeps the order of the corpus.
        scores: NDArray[Any] = self._index.get_scores(known).round(6)
        order = (-scores).argsort(kind="stable")[:count].tolist()
        return tuple(place for place in order if scores[place] > 0)

    @cached_property
    def _index(self) -> Any:
        # Imported on first use, because it loads numpy.
        import bm25s

        # bm25s logs every index to standard error, regardless of the program's settings.
        logging.getLogger("bm25s").setLevel(logging.WARNING)
        index = bm25s.BM25(k1=1.5, b=0.75)
        # A text without words needs a placeholder, or it would have no row.
        index.index([words_of(text) or ["\0"] for text in self._texts], show_progress=False)
        return index


class Corpus:
    """Articles by title. Not thread-safe."""

    def __init__(self, articles: Sequence[Article], *, ranked: Callable[[Sequence[str]], Ranker] = Ranking) -> None:
        """Args:
        articles: the articles.
        ranked: the ranker of an article's paragraphs.
        """
        self._articles, self._ranked = tuple(articles), ranked
        self._by_title = {_plain(article.title): article for article in reversed(self._articles)}
        # The title has the weight of five mentions in the text.
        texts = [" ".join([article.title] * 5 + list(article.paragraphs)) for article in self._articles]
        self._ranking = Ranking(texts)
        self._paragraphs: dict[str, Ranker] = {}

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the articles and the version of the ranking."""
        articles = [[article.title, list(article.paragraphs)] for article in self._articles]
        return canonical_json.digest({"ranking": VERSION, "articles": articles})

    @property
    def titles(self) -> Mapping[str, Article]:
        """The articles by title in lower case."""
        return self._by_title

    def find(self, entity: str) -> Article | None:
        """The article of this title, ignoring case and a leading a, an or the; otherwise the best match of titles and
        texts; None if no word occurs."""
        exact = self._by_title.get(_plain(entity))
        if exact is not None:
            return exact
        best = self._ranking.best(entity, count=1)
        return self._articles[best[0]] if best else None

    def paragraphs(self, *, article: Article, query: str, count: int) -> tuple[str, ...]:
        """The paragraphs of an article that match a query best, best first; its first ones if none matches."""
        if article.title not in self._paragraphs:
            self._paragraphs[article.title] = self._ranked(article.paragraphs)
        ranker = self._paragraphs[article.title]
        best = ranker.best(query, count=count) or tuple(range(min(count, len(article.paragraphs))))
        return tuple(article.paragraphs[place] for place in best)


def words_of(text: str) -> list[str]:
    """The words of a text except stop words, in lower case and without endings."""

    def stem(word: str) -> str:
        for ending in ("ies", "es", "s", "ing", "ed"):
            if word.endswith(ending) and len(word) - len(ending) >= 3:
                return word[: -len(ending)]
        return word

    return [stem(word) for word in _WORD.findall(text.lower()) if word not in _COMMON]


def _plain(title: str) -> str:
    words = title.strip().strip(".\"'").lower().split()
    return " ".join(words[1:] if len(words) > 1 and words[0] in {"a", "an", "the"} else words)
