"""An operator's folder for a few requests of Tool100, with small pictures."""

import json
from pathlib import Path

import numpy as np
from PIL import Image

from evaluator.core.tools.types import ResourceType

SIZE = (48, 40)


def picture(*, seed, size=SIZE):
    generator = np.random.default_rng(seed)
    return Image.fromarray(generator.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8))


def mask():
    image = Image.new("L", SIZE)
    image.paste(255, (8, 6, 30, 24))
    return image


def write_files(folder: Path, *, tasks, size=SIZE) -> None:
    """A file for each name: masks as masks, videos as folders of frames, all else as noise."""
    folder.mkdir(parents=True, exist_ok=True)
    named = {name: kind for task in tasks for name, kind in task.resources.items()}
    for number, (name, kind) in enumerate(sorted(named.items())):
        path = folder / Path(name).name
        if kind is ResourceType.VIDEO:
            path.with_suffix("").mkdir(exist_ok=True)
            for frame in range(5):
                picture(seed=100 * number + frame).save(path.with_suffix("") / f"{frame:04d}.png")
        elif kind is ResourceType.MASK:
            mask().resize(size).save(path)
        else:
            picture(seed=number, size=size).save(path)


def write_index(folder: Path, content) -> None:
    (folder / "index.json").write_text(json.dumps(content))
