"""What a plan's result is compared with where no right results were released."""

from collections.abc import Callable

import numpy as np

from evaluator.controlllm.toolbench.released.executed import ExecutedTask
from evaluator.core.values import Clip, Image, Value


def compared_value(*, task: ExecutedTask, result: Value, given: Callable[[str], Value]) -> Value:
    """The gold plan's result; for an edit, the picture before and after it. See `GoldComparedSource.compared`.

    Raises:
        LookupError: an edit gave no picture of the size of its source.
    """
    (gold,) = task.results
    if not gold.before:
        return result
    before = given(gold.before)
    if not isinstance(before, Image) or not isinstance(result, Image) or before.size != result.size:
        raise LookupError(f"the gold plan of {task.key} gave no picture of the size of {gold.before}")
    return Clip(np.stack([np.asarray(picture.convert("RGB"), dtype=np.uint8) for picture in (before, result)]))
