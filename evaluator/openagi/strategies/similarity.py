"""Similarity of a line of free text to tools: the protocol, the lexical measure, and calibration of thresholds.

Cosine similarities of different models have different scales. A model without a threshold gets the one with the most
correct decisions on `SENTENCES`: descriptions of a tool's function should be mapped to it, and other sentences should
not be mapped. The sentences contain nothing from the suite's requests or answers.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Protocol

from evaluator.core.planner import OfferedTool, offered_tools
from evaluator.core.tools.catalogues import OPENAGI

_WORD = re.compile(r"[a-z]+")
_FUNCTION_WORDS = frozenset({
    "a", "an", "and", "apply", "are", "as", "at", "be", "by", "called", "can", "do", "each", "for", "from", "given",
    "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "let", "me", "model", "my", "now", "of", "on",
    "or", "our", "out", "please", "run", "step", "that", "the", "their", "them", "then", "there", "these", "this",
    "to", "tool", "up", "use", "using", "want", "was", "we", "what", "when", "where", "whether", "which", "will",
    "with", "you", "your",
})  # fmt: skip
_LEAST_SHARED = 4
Words = tuple[str, ...]


class Similarity(Protocol):
    """Compares lines with tools."""

    @property
    def name(self) -> str:
        """Name of the measure in results."""
        ...

    @property
    def threshold(self) -> float:
        """Minimum similarity for mapping a line to a tool."""
        ...

    def compare(self, *, lines: Sequence[str], tools: Sequence[OfferedTool]) -> list[list[float]]:
        """The similarity of each line with each tool, at most 1. Lines are compared independently."""
        ...


class LexicalSimilarity:
    """Word overlap of a line with a tool's name and description, in [0, 1]. Deterministic, without a model.

    Two words are equal if they share a prefix of at least four letters and three quarters of the shorter word
    (`denoise` and `denoising`). Words are weighted by their rarity among the offered tools. The similarity is the
    harmonic mean of recall, over the words of the name or description, and precision, over the words of the line that
    occur in any tool; the better of name and description counts.
    """

    name = "lexical"

    def __init__(self, *, threshold: float = 0.52) -> None:
        """Args:
        threshold: minimum similarity for mapping a line to a tool. The default is the `calibrated_threshold`.
        """
        self.threshold = threshold

    def compare(self, *, lines: Sequence[str], tools: Sequence[OfferedTool]) -> list[list[float]]:
        texts = tuple((_words(tool.name), _words(tool.description)) for tool in tools)
        weights = _weights(texts)
        return [_similarities(_words(line), texts=texts, weights=weights) for line in lines]


def _similarities(line: Words, *, texts: Sequence[tuple[Words, ...]], weights: Mapping[str, float]) -> list[float]:
    # Words that occur in no tool are ignored.
    known = {
        word: max(weights[other] for other in same)
        for word in line
        if (same := [other for other in weights if _are_same(word, other)])
    }
    return [max(_harmonic(known, words, weights=weights) for words in pair) for pair in texts]


def _harmonic(known: Mapping[str, float], words: Words, *, weights: Mapping[str, float]) -> float:
    covered = sum(weights[word] for word in words if _is_in(word, known))
    explained = sum(weight for word, weight in known.items() if _is_in(word, words))
    if not covered or not explained:
        return 0.0
    recall = covered / sum(weights[word] for word in words)
    precision = explained / sum(known.values())
    return 2 * recall * precision / (recall + precision)


@lru_cache(maxsize=64)
def _weights(texts: tuple[tuple[Words, ...], ...]) -> Mapping[str, float]:
    """The weight of each word of the tools' names and descriptions: its inverse document frequency."""
    together = [name + described for name, described in texts]
    vocabulary = sorted({word for text in together for word in text})
    return {word: math.log((1 + len(together)) / sum(_is_in(word, text) for text in together)) for word in vocabulary}


def _is_in(word: str, text: Iterable[str]) -> bool:
    return any(_are_same(word, other) for other in text)


@lru_cache(maxsize=65536)
def _are_same(first: str, second: str) -> bool:
    if first == second:
        return True
    shorter = min(len(first), len(second))
    shared = next((index for index in range(shorter) if first[index] != second[index]), shorter)
    return shared >= max(_LEAST_SHARED, 0.75 * shorter)


def _words(text: str) -> Words:
    """The words of a text except function words, without duplicates, in order."""
    spelled = text.casefold().replace("colour", "color").replace("grey", "gray")
    return tuple(dict.fromkeys(word for word in _WORD.findall(spelled) if word not in _FUNCTION_WORDS))


Labelled = tuple[str, str | None]
"""A sentence and its tool; None if it describes no tool."""

SENTENCES: tuple[Labelled, ...] = (
    ("Remove the noise from the picture", "Image Denoising"),
    ("Clean up the grain with a denoising network", "Image Denoising"),
    ("Denoise it", "Image Denoising"),
    ("Apply noise reduction to the photo", "Image Denoising"),
    ("Sharpen the blurred photo", "Image Deblurring"),
    ("Deblur the image so that edges become visible", "Image Deblurring"),
    ("Get rid of the blur", "Image Deblurring"),
    ("Use a deblurring algorithm", "Image Deblurring"),
    ("Increase the resolution of the picture", "Image Super Resolution"),
    ("Upscale with a super-resolution model", "Image Super Resolution"),
    ("Raise its resolution", "Image Super Resolution"),
    ("Colorize the black-and-white photo", "Colorization"),
    ("Add colours to the grayscale image", "Colorization"),
    ("Give the picture its colours back", "Colorization"),
    ("Classify the image", "Image Classification"),
    ("Determine the class of the main object", "Image Classification"),
    ("Run an image classifier to get a label", "Image Classification"),
    ("Detect the objects in the scene", "Object Detection"),
    ("Locate and name all objects", "Object Detection"),
    ("Run an object detector on the result", "Object Detection"),
    ("Describe the image in one sentence", "Image Captioning"),
    ("Generate a caption for the picture", "Image Captioning"),
    ("Caption the restored photo", "Image Captioning"),
    ("Generate an image from the text", "Text to Image Generation"),
    ("Draw a picture of what the sentence says", "Text to Image Generation"),
    ("Use a text-to-image model", "Text to Image Generation"),
    ("Answer the question about the image", "Visual Question Answering"),
    ("Run visual question answering on photo and query", "Visual Question Answering"),
    ("Feed image and question into a VQA network to answer it", "Visual Question Answering"),
    ("Find the answer to the question in the document", "Question Answering"),
    ("Answer the query from the document", "Question Answering"),
    ("Extract the answer with a question answering model", "Question Answering"),
    ("Summarize the article", "Text Summarization"),
    ("Write a summary of the text", "Text Summarization"),
    ("Summarise it in a few words", "Text Summarization"),
    ("Continue the text", "Text Generation"),
    ("Generate more text with a language model", "Text Generation"),
    ("Translate the caption into German", "Machine Translation"),
    ("Turn the English answer into German", "Machine Translation"),
    ("Use machine translation for the result", "Machine Translation"),
    ("Fill in the masked word", "Fill Mask"),
    ("Predict the [MASK] token", "Fill Mask"),
    ("Replace the mask by a fitting word", "Fill Mask"),
    ("Decide whether the review is positive or negative", "Sentiment Analysis"),
    ("Analyse the sentiment of the sentence", "Sentiment Analysis"),
    ("Find out if the mood is positive", "Sentiment Analysis"),
    ("Preheat the oven and grease a pan", None),
    ("Save the file and close the program", None),
    ("Collect more data", None),
    ("Done", None),
    ("Check the result by eye and repeat if needed", None),
    ("Open the settings menu of your browser", None),
    ("Install the required software", None),
    ("The weather is nice today", None),
    ("Ask a friend for help", None),
    ("Think about what could have gone wrong", None),
    ("Submit the final output", None),
    ("Load the image", None),
    ("Read the input file", None),
    ("Display the image on the screen", None),
    ("Convert the picture to a matrix of numbers", None),
    ("Buy a new camera with a better lens", None),
    ("Finally, evaluate the performance of your system", None),
    ("Return the text to the user", None),
)


def calibrated_threshold(similarity: Similarity, *, sentences: Sequence[Labelled] = SENTENCES) -> float:
    """The threshold with the most correct decisions; of several, the median."""
    best = _best(similarity, sentences=sentences)
    values = sorted({value for value, _ in best})
    # From mapping every sentence to mapping none.
    candidates = [values[0], *((low + high) / 2 for low, high in pairwise(values)), (values[-1] + 1) / 2]
    right = [_right(best, threshold=threshold) for threshold in candidates]
    good = [threshold for threshold, number in zip(candidates, right, strict=True) if number == max(right)]
    return good[len(good) // 2]


def right_decisions(similarity: Similarity, *, threshold: float, sentences: Sequence[Labelled] = SENTENCES) -> int:
    """Number of sentences that are mapped to their tool, or left unmapped if they have none."""
    return _right(_best(similarity, sentences=sentences), threshold=threshold)


def _best(similarity: Similarity, *, sentences: Sequence[Labelled]) -> list[tuple[float, tuple[bool, bool]]]:
    """The highest similarity of each sentence, and whether mapping and not mapping it are correct."""
    tools = offered_tools(OPENAGI)
    rows = similarity.compare(lines=[sentence for sentence, _ in sentences], tools=tools)
    return [
        (max(row), (tools[row.index(max(row))].name == tool, tool is None))
        for (_, tool), row in zip(sentences, rows, strict=True)
    ]


def _right(best: Sequence[tuple[float, tuple[bool, bool]]], *, threshold: float) -> int:
    return sum(mapped if value >= threshold else unmapped for value, (mapped, unmapped) in best)
