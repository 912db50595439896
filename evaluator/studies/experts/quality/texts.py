"""Held-out quality of the language experts, on texts of the validation split."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.core.expert import Expert
from evaluator.miniature.grammar.captions import caption, main_caption, mask_word
from evaluator.miniature.grammar.documents import draw_document
from evaluator.miniature.grammar.german import Bilingual
from evaluator.miniature.grammar.labels import label, object_names
from evaluator.miniature.grammar.reviews import draw_review
from evaluator.miniature.lilliput_samples import TEXT_SAMPLES, Stream, TextInput, TextSample
from evaluator.miniature.scenes import Scene, draw_scene
from evaluator.miniature.seeds import Split, generator

TEXT_TOOLS: Mapping[str, str] = {
    "machine-translation": "Machine Translation",
    "fill-mask": "Fill Mask",
    "question-answering": "Question Answering",
    "summarization": "Text Summarization",
    "sentiment": "Sentiment Analysis",
    "text-generation": "Text Generation",
}
"""The tool of each folder of weights."""


def rouge_l(*, output: str, reference: str) -> float:
    """ROUGE-L F1 (Lin, 2004) over words, in [0, 1]: by the longest common subsequence."""
    ours, theirs = output.split(), reference.split()
    if not ours or not theirs:
        return 0.0
    row = [0] * (len(theirs) + 1)
    for word in ours:
        before = row
        row = [0]
        for position, other in enumerate(theirs):
            row.append(before[position] + 1 if word == other else max(before[position + 1], row[-1]))
    return 2 * row[-1] / (len(ours) + len(theirs))


def stream_of(index: int) -> Stream:
    """The streams of a validation sample."""
    return lambda purpose: generator(split=Split.VALIDATION, index=index, purpose=purpose)


def sample_of(*, base: str, index: int) -> TextSample:
    """A validation sample of a domain task."""
    return TEXT_SAMPLES[base](draw_scene(split=Split.VALIDATION, index=index), stream_of(index))


_TRANSLATED: Mapping[str, Callable[[Scene, Stream, int], Bilingual]] = {
    "labels": lambda scene, stream, index: label(scene),  # noqa: ARG005
    "object lists": lambda scene, stream, index: object_names(scene),  # noqa: ARG005
    "captions": lambda scene, stream, index: caption(scene),  # noqa: ARG005
    "captions of the main object": lambda scene, stream, index: main_caption(scene),  # noqa: ARG005
    "visual answers": lambda scene, stream, index: sample_of(base="vqa", index=index).reference,  # noqa: ARG005
    "document answers": lambda scene, stream, index: sample_of(base="qa", index=index).reference,  # noqa: ARG005
    "summaries": lambda scene, stream, index: sample_of(base="summarization", index=index).reference,  # noqa: ARG005
    "sentiments": lambda scene, stream, index: sample_of(base="sentiment", index=index).reference,  # noqa: ARG005
    "texts": lambda scene, stream, index: sample_of(base="translation", index=index).reference,  # noqa: ARG005
    "other sentences": lambda scene, stream, index: _any_sentence(stream, index),  # noqa: ARG005
}


def _any_sentence(stream: Stream, index: int) -> Bilingual:
    sentences = (*draw_document(stream("document")).sentences, *draw_review(stream("review")).sentences)
    return sentences[index % len(sentences)]


def _answers(*, expert: Expert, items: Sequence[Mapping[str, str]]) -> list[str]:
    return [str(result["text"]) for result in expert.run(items)]


def _equal(outputs: Sequence[str], references: Sequence[str]) -> float:
    return float(np.mean([output == reference for output, reference in zip(outputs, references, strict=True)]))


def translation_quality(*, expert: Expert, count: int) -> dict[str, float]:
    """Share of exact translations by kind of text."""
    table = {}
    for kind, draw in _TRANSLATED.items():
        pairs = [draw(draw_scene(split=Split.VALIDATION, index=i), stream_of(i), i) for i in range(count)]
        outputs = _answers(expert=expert, items=[{"text": pair.english} for pair in pairs])
        table[kind] = _equal(outputs, [pair.german for pair in pairs])
    return table


def masked_inputs(*, count: int) -> Iterator[tuple[str, TextInput, str]]:
    """Every input of the tasks in which a word may be masked: its name, the text, and the text with the mask."""
    for base in ("summarization", "translation", "sentiment", "qa", "vqa", "text_to_image"):
        for index in range(count):
            for name, source in sample_of(base=base, index=index).texts.items():
                stream = stream_of(index)(f"mask {base} {name}")
                masked = mask_word(text=source.text, recoverable=source.recoverable, rng=stream)
                yield f"{base} {name}", source, masked


def fill_quality(*, expert: Expert, count: int) -> dict[str, float]:
    """Share of texts restored exactly, by the input they are."""
    rows = list(masked_inputs(count=count))
    outputs = _answers(expert=expert, items=[{"text": masked} for _, _, masked in rows])
    table: dict[str, list[bool]] = {}
    for output, (name, source, _) in zip(outputs, rows, strict=True):
        table.setdefault(name, []).append(output == source.text)
    return {name: float(np.mean(right)) for name, right in table.items()}


def answer_quality(*, expert: Expert, count: int) -> dict[str, float]:
    """Share of exact answers."""
    samples = [sample_of(base="qa", index=index) for index in range(count)]
    items = [{name: source.text for name, source in sample.texts.items()} for sample in samples]
    return {"exact": _equal(_answers(expert=expert, items=items), [s.reference.english for s in samples])}


def summary_quality(*, expert: Expert, count: int) -> dict[str, float]:
    """Mean ROUGE-L and share of exact summaries."""
    samples = [sample_of(base="summarization", index=index) for index in range(count)]
    outputs = _answers(expert=expert, items=[{"text": sample.texts["text"].text} for sample in samples])
    references = [sample.reference.english for sample in samples]
    scores = [rouge_l(output=o, reference=r) for o, r in zip(outputs, references, strict=True)]
    return {"ROUGE-L": float(np.mean(scores)), "exact": _equal(outputs, references)}


def sentiment_quality(*, expert: Expert, count: int) -> dict[str, float]:
    """Share of right sentiments."""
    samples = [sample_of(base="sentiment", index=index) for index in range(count)]
    outputs = _answers(expert=expert, items=[{"text": sample.texts["text"].text} for sample in samples])
    return {"accuracy": _equal(outputs, [sample.reference.english for sample in samples])}


def continuation_quality(*, expert: Expert, count: int) -> dict[str, float]:
    """Share of stories, broken off before the noun of the first event's place, that go on with just this noun."""
    events = [draw_document(stream_of(index)("document")).events[0] for index in range(count)]
    nouns = [event.place.thing.noun.english for event in events]
    prompts = [event.sentence.english.removesuffix(f" {noun}.") for event, noun in zip(events, nouns, strict=True)]
    outputs = _answers(expert=expert, items=[{"text": prompt} for prompt in prompts])
    begun = [o.removeprefix(p).strip().split(".")[0] for o, p in zip(outputs, prompts, strict=True)]
    return {"right next word": _equal(begun, nouns)}


_MEASURES: Mapping[str, Callable[..., dict[str, float]]] = {
    "machine-translation": translation_quality,
    "fill-mask": fill_quality,
    "question-answering": answer_quality,
    "summarization": summary_quality,
    "sentiment": sentiment_quality,
    "text-generation": continuation_quality,
}


@dataclass(frozen=True, slots=True)
class TextQuality:
    """Held-out figures of the language experts that a profile has."""

    count: int
    tables: Mapping[str, Mapping[str, float]]
    """By folder of weights, then by measure; each in [0, 1]."""

    def lines(self) -> Iterator[str]:
        """As text."""
        for model, table in self.tables.items():
            yield f"{model}: {', '.join(f'{name} {value:.3f}' for name, value in table.items())}"

    def of(self, model: str) -> dict[str, str]:
        """The figures for one model's card."""
        return {f"{name}, {self.count} items each": f"{value:.3f}" for name, value in self.tables[model].items()}


def measure_texts(*, experts: Mapping[str, Expert], count: int) -> TextQuality:
    """Measure the language experts among those of a profile, by tool."""
    tables = {
        model: measure(expert=experts[TEXT_TOOLS[model]], count=count)
        for model, measure in _MEASURES.items()
        if TEXT_TOOLS[model] in experts
    }
    return TextQuality(count=count, tables=tables)
