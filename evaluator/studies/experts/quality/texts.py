"""Held-out quality of the experts that read and write texts, on the validation split."""

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
        for model, measure in _TEXT_MEASURES.items()
        if TEXT_TOOLS[model] in experts
    }
    return TextQuality(count=count, tables=tables)


def signs(count: int) -> tuple[Sign, ...]:
    """The first validation signs. About a quarter of their words are in no training sign."""
    return tuple(draw_sign(split=Split.VALIDATION, index=index) for index in range(count))


def texts(count: int) -> tuple[Annotated, ...]:
    """The first validation texts."""
    streams = (generator(split=Split.VALIDATION, index=index, purpose="annotated") for index in range(count))
    return tuple(map(draw_annotated, streams))


def word_hits(*, read: Sequence[str], right: Sequence[Sign], kept_from_training: bool) -> float:
    """Share of the words, kept from training or not, that are read at their place."""
    hits = [
        read_words[place : place + 1] == [word]
        for said, sign in zip(read, right, strict=True)
        for read_words in [said.split()]
        for place, word in enumerate(sign.words)
        if is_kept_from_training(word) is kept_from_training
    ]
    return float(np.mean(hits))


def _reading(experts: Mapping[str, Expert], count: int) -> dict[str, float]:
    there = signs(count)
    images: list[Mapping[str, Value]] = [{"image": PillowImage.fromarray(paint_sign(sign))} for sign in there]
    read = [str(item["text"]) for item in experts["optical_character_recognition"].run(images)]
    wrong = sum(edit_distance(said, sign.text) for said, sign in zip(read, there, strict=True))
    return {
        "exact": float(np.mean([said == sign.text for said, sign in zip(read, there, strict=True)])),
        "characters in error": wrong / sum(len(sign.text) for sign in there),
        "right words of training": word_hits(read=read, right=there, kept_from_training=False),
        "right words that no training sign shows": word_hits(read=read, right=there, kept_from_training=True),
    }


def _annotation(experts: Mapping[str, Expert], count: int) -> dict[str, float]:
    there = texts(count)
    titled = [one for one in there if one.title]
    placed = [one for one in there if one.place]
    titles, places = _said(experts["title_generation"], titled), _said(experts["extract_location"], placed)
    tags, names = _said(experts["text_to_tags"], there), _said(experts["named_entity_recognition"], there)
    return {
        "exact titles": _equal_share(titles, [one.title for one in titled]),
        "F1 of tags": _f1(tags, [one.tags for one in there]),
        "F1 of names": _f1(names, [one.names for one in there]),
        "exact places": _equal_share(places, [one.place for one in placed]),
    }


def _said(expert: Expert, there: Sequence[Annotated]) -> list[Value]:
    return [value for item in expert.run([{"text": one.text} for one in there]) for value in item.values()]


def _equal_share(said: Sequence[Value], right: Sequence[str]) -> float:
    return float(np.mean([one == other for one, other in zip(said, right, strict=True)]))


def _f1(said: Sequence[Value], right: Sequence[tuple[str, ...]]) -> float:
    pairs = zip(said, right, strict=True)
    return float(np.mean([label_score(_labels(one), Labels(tuple(map(Label, other)))) for one, other in pairs]))


def _labels(value: Value) -> Labels:
    assert isinstance(value, Labels)
    return value


MEASURES: Mapping[str, Callable[[Mapping[str, Expert], int], dict[str, float]]] = {
    "character-recognition": _reading,
    "text-annotation": _annotation,
}
"""By folder of weights: from the experts by tool and the number of validation samples to figures in [0, 1] by name."""
