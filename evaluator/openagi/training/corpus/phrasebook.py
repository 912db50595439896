"""The words of the paraphrased requests: how inputs and goals are said, in many ways.

They are written for this generator. Some are also OpenAGI's ("noisy", "caption", "document"), as they are English;
others of OpenAGI's ("low-resolutioned", "clozed", "class label", "regular image") stand nowhere here, so a planner that
read only these has to guess them, as a language model would.
"""

from collections.abc import Mapping

Words = tuple[str, ...]

ADJECTIVES: Mapping[str, Words] = {
    "Image Super Resolution": ("low-resolution", "low resolution", "pixelated", "tiny", "coarse", "shrunken"),
    "Image Denoising": ("noisy", "grainy", "speckled", "noise-ridden"),
    "Image Deblurring": ("blurry", "blurred", "fuzzy", "unsharp", "out-of-focus"),
    "Colorization": ("grayscale", "gray", "monochrome", "black-and-white", "colourless"),
}
"""What is said of an image that needs a restoring tool, before the noun."""

COMPLAINTS: Mapping[str, Words] = {
    "Image Super Resolution": ("has a low resolution", "is far too small", "has too few pixels", "was shrunk"),
    "Image Denoising": ("is full of noise", "is noisy", "has grain all over", "is covered in speckles"),
    "Image Deblurring": ("is blurry", "is out of focus", "lacks sharpness", "got blurred"),
    "Colorization": ("is in grayscale", "has no colours", "is black and white", "lost its colours"),
}
"""The same, behind the noun."""

IMAGES: Words = ("image", "picture", "photo", "photograph", "snapshot", "shot")
TEXTS: Words = ("text", "sentence", "passage", "paragraph", "note")
QUERIES: Words = ("query", "question")
DOCUMENTS: Words = ("document", "article", "report", "story")

MASKED: Words = ("masked", "cloze", "gapped", "incomplete", "partly hidden")
"""What is said of a text with a missing word, before the noun."""
GAPS: Words = ("with a masked word", "with a blank in it", "that lacks a word", "with one word hidden", "with a gap")
"""The same, behind the noun."""

RESTORE: Words = (
    "restore it", "repair it", "get the clean {image}", "bring back the original {image}", "make it a normal {image}",
    "return the {image} as it was", "undo the damage", "recover a proper {image}",
)  # fmt: skip
DRAW: Words = (
    "draw a {image} of it", "make a {image} from it", "generate an image", "produce a matching {image}",
    "paint what it says", "create a {image}", "illustrate it",
)  # fmt: skip
TRANSLATE: Words = (
    "translate it into German", "translate the {text} to German", "write it in German", "get a German translation",
    "say the same in German", "turn it into German", "return the translation in German",
)  # fmt: skip
RESULTS: Mapping[str, Words] = {
    "Image Captioning": ("caption", "description", "sentence about it", "short description"),
    "Image Classification": ("class", "category", "label of the main thing", "kind of thing it shows"),
    "Object Detection": ("objects", "list of objects", "names of all things", "names of what is visible"),
    "Text Summarization": ("summary", "short version", "gist", "main point", "abstract"),
    "Sentiment Analysis": ("sentiment", "mood", "polarity", "opinion, positive or negative,"),
    "Text Generation": ("continuation", "next lines", "rest of the {text}"),
}
"""What a request wants of one input, as a noun."""
GIVE: Words = ("return the {what}", "give me the {what}", "find the {what}", "get the {what}", "tell the {what}",
               "write the {what}", "output the {what}")  # fmt: skip
ANSWER: Words = ("answer it", "answer the {query}", "reply to the {query}", "respond to it", "find the answer",
                 "give the answer", "return the answer")  # fmt: skip

IN_ENGLISH: Words = ("in English", "in plain English", "as English words", "in the English language")
IN_GERMAN: Words = ("in German", "in the German language", "as German words", "for a German reader", "and in German")
ENGLISH: Words = ("English ", "")
"""Before the noun of an input; all texts that are given are English."""

FRAMES: Words = (
    "I have {given}. How do I {goal}?",
    "I have {given}. Please {goal}.",
    "Here is {given}; {goal}.",
    "There is {given}, and I want to {goal}.",
    "Starting from {given}, {goal}.",
    "With {given} at hand, {goal}.",
    "Given {given}, {goal}.",
    "Input: {given}. Goal: {goal}.",
    "What does it take to {goal} when there is {given}?",
    "How can one {goal} with {given}?",
    "Please {goal}. What you get is {given}.",
    "Use {given} to {goal}.",
    "My task is to {goal}, and all I have is {given}.",
    "{given}: {goal}",
)
"""Whole requests."""
