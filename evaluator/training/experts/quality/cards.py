"""Cards: what each shipped model is, how it was trained, and how good it is on held-out scenes."""

import json
import math
from collections.abc import Mapping
from pathlib import Path

from safetensors import safe_open

from evaluator.training.experts.recipes import RECIPES
from evaluator.training.experts.restoration import RESTORATION_NOTE

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


def write_card(*, folder: Path, quality: Mapping[str, str]) -> None:
    """Write `card.md` into a folder of weights.

    Args:
        quality: held-out measures, as a name and a figure with its unit.
    """
    recipe = RECIPES[folder.name]
    record = json.loads((folder / "training.json").read_text())
    commands = ", then ".join(f"`{command}`" for command in record["commands"])
    amount = f"{record['scenes']:,} scenes" if recipe.pictures else f"{record['texts']:,} texts"
    lines = [
        f"# {recipe.title}",
        "",
        f"- Parameters: {_parameters(folder):,}, stored as float16, computed with as float32",
        f"- Data: {_DATA.get(folder.name, RESTORATION_NOTE)}; {amount} of world {record['world']}",
        f"- Trained by: {commands} (seed {record['seed']}, {record['steps']} steps, torch {record['torch']}, CPU)",
        *(f"- Note: {note}" for note in [record.get("note")] if note),
        "- Licence: Apache-2.0; trained here from random weights on procedural data",
        "",
        "Held-out quality, measured by `planarena lilliput quality` on scenes of the validation split:",
        "",
        *(f"- {name}: {figure}" for name, figure in quality.items()),
    ]
    (folder / "card.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _parameters(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*.safetensors"):
        with safe_open(path, framework="pt") as file:
            total += sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118 - not a dict
    return total
