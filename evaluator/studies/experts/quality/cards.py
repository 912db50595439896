"""Cards: what each shipped model is, how it was trained, and how good it is on held-out scenes."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import safe_open

from evaluator.studies.experts.recipes import RECIPES
from evaluator.studies.experts.restoration import RESTORATION_NOTE

_DATA = {
    "captioning": "clean training scenes and their captions; begins with the encoder of `lilliput train scene-encoder`",
    "object-detection": "clean training scenes and their objects; begins with the encoder that captioning begins with",
    "visual-questions": "clean training scenes and the grammar's questions; begins with captioning's scene encoder",
    "clip-score": "training scenes, some a little blurred or noisy, and their captions; begins with the scene encoder",
    "text-to-image": "clean training scenes and their captions; the text encoder begins as that of `clip-score`",
    "bert-score": "sentences and stories of the bilingual grammar in both languages, one in five words masked",
    "machine-translation": "labels, object lists, captions, answers, summaries, sentences, each with its German",
    "fill-mask": "stories, reviews, questions and captions, masked where the rest of a text determines the word",
    "question-answering": "stories with questions whose answer is a span",
    "summarization": "stories with their one-sentence summaries",
    "sentiment": "reviews, none of them masked",
    "text-generation": "stories, reviews, questions and captions",
    "classification": "clean training scenes only; nothing degraded, so that restoration matters",
    "vit-score": "training scenes degraded to every extent, clean ones among them",
}


_EXPERT_USE = "executes a step of a plan in the miniature world, so that plans can be compared on a laptop"
_USE = {
    "vit-score": "compares images of the miniature world when plans are scored",
    "bert-score": "compares texts of the miniature world when plans are scored",
    "clip-score": "compares drawn images with texts of the miniature world when plans are scored",
}
_LIMITS = {
    "super-resolution": "restores the low resolution of this world, a quarter of the pixels in each direction; images "
    "that were never reduced become soft",
    "denoising": "trained on one strength of additive noise; other images lose detail",
    "deblurring": "trained on one Gaussian blur",
    "colorization": "knows the eight colours of this world by their textures; any other object gets one of them",
    "classification": "knows 64 classes, all of which occur in its training; degraded images are often classified "
    "wrongly, as intended",
    "captioning": "writes one sentence of the grammar about the main object and the background, whatever the image is",
    "object-detection": "finds the eight shapes in eight colours and nothing else",
    "visual-questions": "chooses from a closed list of answers and understands only the grammar's questions",
    "text-to-image": "draws scenes of this world from the grammar's captions; shapes are less reliable than colours",
    "machine-translation": "translates the grammar's English into German and nothing else",
    "fill-mask": "fills a word that the rest of a text of the grammar determines",
    "question-answering": "answers with a span of a story of the grammar",
    "summarization": "summarises the grammar's stories of two events in one sentence",
    "sentiment": "knows the grammar's reviews only; about a quarter of the reviews of the other splits occur in its "
    "training, word for word",
    "text-generation": "continues texts of the grammar",
    "vit-score": "trained so that k degradations score 0.65^k, on the degradations that it is used to judge: it is no "
    "independent measure of image quality",
    "bert-score": "gives wrong but well-formed answers high scores; read it beside the anchors of a board",
    "clip-score": "ranks captions of this world; it says nothing about photographs",
}


def record_quality(*, folder: Path, quality: Mapping[str, str]) -> None:
    """Write measures on held-out data into a model's `training.json`, from which its card takes them.

    Args:
        folder: of the weights.
        quality: names and figures with their units.
    """
    path = folder / "training.json"
    record = json.loads(path.read_text(encoding="utf-8")) | {"quality": [list(pair) for pair in quality.items()]}
    path.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def write_card(folder: Path) -> None:
    """Write `card.md` into a folder of weights."""
    (folder / "card.md").write_text(card(folder), encoding="utf-8")


def card(folder: Path) -> str:
    """The card of a shipped expert or scorer, from what was recorded beside its weights."""
    recipe = RECIPES[folder.name]
    record = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    commands = ", then ".join(f"`{command}`" for command in record["commands"])
    amount = f"{record['scenes']:,} scenes" if recipe.pictures else f"{record['texts']:,} texts"
    # Recipes for tableaux and clips say in `data` how many there are.
    read = f"{amount} of world" if recipe.pictures or recipe.texts else "world"
    lines = [
        f"# {recipe.title}",
        "",
        f"- Parameters: {_parameters(folder):,}, stored as float16, computed with as float32",
        f"- Data: {recipe.data or _DATA.get(folder.name, RESTORATION_NOTE)}; {read} {record['world']}",
        f"- Trained by: {commands} (seed {record['seed']}, {record['steps']} steps, torch {record['torch']}, CPU)",
        *(f"- Note: {note}" for note in [record.get("note")] if note),
        "- Licence: Apache-2.0; trained here from random weights on procedural data",
        f"- Intended use: {_USE.get(folder.name, _EXPERT_USE)}. Not for photographs, texts by people, or decisions",
        f"- Limits: {recipe.limits or _LIMITS[folder.name]}",
        "",
        "Held-out quality, measured by `planarena lilliput quality` on scenes of the validation split:",
        "",
        *(f"- {name}: {figure}" for name, figure in _quality(record).items()),
    ]
    return "\n".join(lines) + "\n"


def _quality(record: Mapping[str, Any]) -> Mapping[str, str]:
    """In the order of the measures; a model that was trained again has none until it is measured."""
    return dict(record["quality"]) if "quality" in record else {"quality": "not measured since the training"}


def _parameters(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*.safetensors"):
        with safe_open(path, framework="pt") as file:
            total += sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118 - not a dict
    return total
