"""The threshold of a measure, chosen on sentences of our own.

Cosine similarities of two models are on different scales, so no threshold fits all. A model that comes without one gets
the threshold that decides most of these sentences rightly: those that say what a tool does are mapped to it, and those
that say something else are not mapped. Nothing of the suite's requests or answers is in them.
"""

from collections.abc import Sequence
from itertools import pairwise

from evaluator.core.planner import offered_tools
from evaluator.core.tools.catalogues import OPENAGI
from evaluator.openagi.strategies.similarity import Similarity

Labelled = tuple[str, str | None]
"""A sentence and its tool; None: it says of no tool what it does."""

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
    """The threshold with the most right decisions; of several that are equally good, the one in their middle."""
    best = _best(similarity, sentences=sentences)
    values = sorted({value for value, _ in best})
    # From mapping every sentence to mapping none.
    candidates = [values[0], *((low + high) / 2 for low, high in pairwise(values)), (values[-1] + 1) / 2]
    right = [_right(best, threshold=threshold) for threshold in candidates]
    good = [threshold for threshold, number in zip(candidates, right, strict=True) if number == max(right)]
    return good[len(good) // 2]


def right_decisions(similarity: Similarity, *, threshold: float, sentences: Sequence[Labelled] = SENTENCES) -> int:
    """How many sentences are mapped to their tool, or left unmapped if they have none."""
    return _right(_best(similarity, sentences=sentences), threshold=threshold)


def _best(similarity: Similarity, *, sentences: Sequence[Labelled]) -> list[tuple[float, tuple[bool, bool]]]:
    """Of each sentence the highest similarity, and whether mapping it and not mapping it is right."""
    tools = offered_tools(OPENAGI)
    rows = similarity.compare(lines=[sentence for sentence, _ in sentences], tools=tools)
    found = []
    for (_, tool), row in zip(sentences, rows, strict=True):
        value = max(row)
        found.append((value, (tools[row.index(value)].name == tool, tool is None)))
    return found


def _right(best: Sequence[tuple[float, tuple[bool, bool]]], *, threshold: float) -> int:
    return sum(mapped if value >= threshold else unmapped for value, (mapped, unmapped) in best)
