"""Held-out quality of the language experts, of reading signs and of annotation, on the validation split."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image as PillowImage

from evaluator.core.expert import Expert
from evaluator.core.values import Label, Labels, Value
from evaluator.miniature.annotations import Annotated
from evaluator.miniature.grammar.captions import caption, main_caption, mask_word
from evaluator.miniature.grammar.documents import draw_document
from evaluator.miniature.grammar.german import Bilingual
from evaluator.miniature.grammar.labels import label, object_names
from evaluator.miniature.grammar.reviews import draw_review
from evaluator.miniature.lilliput_samples import TEXT_SAMPLES, Stream, TextInput, TextSample
from evaluator.miniature.scenes import Scene, draw_scene
from evaluator.miniature.seeds import Split, generator
from evaluator.miniature.signs import Sign, draw_sign, is_kept_from_training, paint_sign
from evaluator.scoring.metrics.results.pictures import label_score
from evaluator.scoring.metrics.results.texts import edit_distance
from evaluator.studies.experts.annotation import draw_annotated

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
    """ROUGE-L F1 (Lin, 2004) over words, in [0, 1], by the longest common subsequence."""
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
    """The random streams of a validation sample, by purpose."""
    return lambda purpose: generator(split=Split.VALIDATION, index=index, purpose=purpose)


def sample_of(*, base: str, index: int) -> TextSample:
    """A validation sample of a domain task."""
    return TEXT_SAMPLES[base](_scene(index), stream_of(index))


def _scene(index: int) -> Scene:
    return draw_scene(split=Split.VALIDATION, index=index)


def _any_sentence(index: int) -> Bilingual:
    stream = stream_of(index)
    sentences = (*draw_document(stream("document")).sentences, *draw_review(stream("review")).sentences)
    return sentences[index % len(sentences)]


_TRANSLATED: Mapping[str, Callable[[int], Bilingual]] = {
    "labels": lambda index: label(_scene(index)),
    "object lists": lambda index: object_names(_scene(index)),
    "captions": lambda index: caption(_scene(index)),
    "captions of the main object": lambda index: main_caption(_scene(index)),
    "visual answers": lambda index: sample_of(base="vqa", index=index).reference,
    "document answers": lambda index: sample_of(base="qa", index=index).reference,
    "summaries": lambda index: sample_of(base="summarization", index=index).reference,
    "sentiments": lambda index: sample_of(base="sentiment", index=index).reference,
    "texts": lambda index: sample_of(base="translation", index=index).reference,
    "other sentences": _any_sentence,
}


def _answers(*, expert: Expert, items: Sequence[Mapping[str, str]]) -> list[str]:
    return [str(result["text"]) for result in expert.run(items)]


def _equal(outputs: Sequence[Value], references: Sequence[str]) -> float:
    return float(np.mean([output == reference for output, reference in zip(outputs, references, strict=True)]))


def translation_quality(*, expert: Expert, count: int) -> dict[str, float]:
    """Share of exact translations by kind of text."""
    table = {}
    for kind, draw in _TRANSLATED.items():
        pairs = [draw(index) for index in range(count)]
        outputs = _answers(expert=expert, items=[{"text": pair.english} for pair in pairs])
        table[kind] = _equal(outputs, [pair.german for pair in pairs])
    return table


def masked_inputs(*, count: int) -> Iterator[tuple[str, TextInput, str]]:
    """Each input of the tasks with words to mask: its name, the text, and the masked text."""
    for base in ("summarization", "translation", "sentiment", "qa", "vqa", "text_to_image"):
        for index in range(count):
            for name, source in sample_of(base=base, index=index).texts.items():
                stream = stream_of(index)(f"mask {base} {name}")
                masked = mask_word(text=source.text, recoverable=source.recoverable, rng=stream)
                yield f"{base} {name}", source, masked


def fill_quality(*, expert: Expert, count: int) -> dict[str, float]:
    """Share of texts restored exactly, by input."""
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
    """Share of stories, cut before the noun of the first event's place, that are continued with this noun."""
    events = [draw_document(stream_of(index)("document")).events[0] for index in range(count)]
    nouns = [event.place.thing.noun.english for event in events]
    prompts = [event.sentence.english.removesuffix(f" {noun}.") for event, noun in zip(events, nouns, strict=True)]
    outputs = _answers(expert=expert, items=[{"text": prompt} for prompt in prompts])
    begun = [o.removeprefix(p).strip().split(".")[0] for o, p in zip(outputs, prompts, strict=True)]
    return {"right next word": _equal(begun, nouns)}


_TEXT_MEASURES: Mapping[str, Callable[..., dict[str, float]]] = {
    "machine-translation": translation_quality,
    "fill-mask": fill_quality,
    "question-answering": answer_quality,
    "summarization": summary_quality,
    "sentiment": sentiment_quality,
    "text-generation": continuation_quality,
}


@dataclass(frozen=True, slots=True)
class TextQuality:
    """Held-out figures of the language experts of a profile."""

    count: int
    tables: Mapping[str, Mapping[str, float]]
    """By folder of weights, then by measure; each in [0, 1]."""

    def lines(self) -> Iterator[str]:
        """The figures as text."""
        for model, table in self.tables.items():
            yield f"{model}: {', '.join(f'{name} {value:.3f}' for name, value in table.items())}"

    def of(self, model: str) -> dict[str, str]:
        """The figures for the card of a model."""
        return {f"{name}, {self.count} items each": f"{value:.3f}" for name, value in self.tables[model].items()}


def measure_texts(*, experts: Mapping[str, Expert], count: int) -> TextQuality:
    """Measure the language experts among the experts of a profile by tool."""
    tables = {
        model: measure(expert=experts[TEXT_TOOLS[model]], count=count)
        for model, measure in _TEXT_MEASURES.items()
        if TEXT_TOOLS[model] in experts
    }
    return TextQuality(count=count, tables=tables)


def word_hits(*, outputs: Sequence[str], signs: Sequence[Sign], held_out: bool) -> float:
    """Share of the words, either those held out from training or the others, that are read at their position."""
    hits = [
        words[place : place + 1] == [word]
        for output, sign in zip(outputs, signs, strict=True)
        for words in [output.split()]
        for place, word in enumerate(sign.words)
        if is_kept_from_training(word) is held_out
    ]
    return float(np.mean(hits))


def _reading(experts: Mapping[str, Expert], count: int) -> dict[str, float]:
    # About a quarter of the words of validation signs are in no training sign.
    signs = [draw_sign(split=Split.VALIDATION, index=index) for index in range(count)]
    images: list[Mapping[str, Value]] = [{"image": PillowImage.fromarray(paint_sign(sign))} for sign in signs]
    outputs = [str(item["text"]) for item in experts["optical_character_recognition"].run(images)]
    errors = sum(edit_distance(output, sign.text) for output, sign in zip(outputs, signs, strict=True))
    return {
        "exact": _equal(outputs, [sign.text for sign in signs]),
        "characters in error": errors / sum(len(sign.text) for sign in signs),
        "right words of training": word_hits(outputs=outputs, signs=signs, held_out=False),
        "right words that no training sign shows": word_hits(outputs=outputs, signs=signs, held_out=True),
    }


def _annotation(experts: Mapping[str, Expert], count: int) -> dict[str, float]:
    texts = [
        draw_annotated(generator(split=Split.VALIDATION, index=index, purpose="annotated")) for index in range(count)
    ]
    titled, placed = [text for text in texts if text.title], [text for text in texts if text.place]

    def outputs(tool: str, inputs: Sequence[Annotated]) -> list[Value]:
        return [
            value for item in experts[tool].run([{"text": text.text} for text in inputs]) for value in item.values()
        ]

    return {
        "exact titles": _equal(outputs("title_generation", titled), [text.title for text in titled]),
        "F1 of tags": _f1(outputs("text_to_tags", texts), [text.tags for text in texts]),
        "F1 of names": _f1(outputs("named_entity_recognition", texts), [text.names for text in texts]),
        "exact places": _equal(outputs("extract_location", placed), [text.place for text in placed]),
    }


def _f1(outputs: Sequence[Value], references: Sequence[tuple[str, ...]]) -> float:
    scores = []
    for output, reference in zip(outputs, references, strict=True):
        assert isinstance(output, Labels)
        scores.append(label_score(output, Labels(tuple(map(Label, reference)))))
    return float(np.mean(scores))


MEASURES: Mapping[str, Callable[[Mapping[str, Expert], int], dict[str, float]]] = {
    "character-recognition": _reading,
    "text-annotation": _annotation,
}
"""By folder of weights: takes the experts by tool and a number of samples; returns figures in [0, 1] by name."""
