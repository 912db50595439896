"""Does the measure measure? Gold plans against changed ones, floors, and image scores that share no training.

Of executed plans, `variants` scores gold plans and changes of them, `images` compares the image score with measures
that were not trained on degradations, and `floors` says what answers without a plan score. Of judged plans, `judged`
compares gold plans with the kinds of damage in `damages`; where plans are executed as well, `execution_agreement` asks
whether those that are judged to solve a request produce good results.

What it exports is imported on first use: judging plans needs no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evaluator.validity.execution_agreement import measure_agreement
    from evaluator.validity.floors import ConstantAnswer, Floors, UntouchedImages, measure_floors
    from evaluator.validity.images import Agreement, ImageReport, Images, measure_images
    from evaluator.validity.judged import JudgedReport, NotComparableError, measure_judged
    from evaluator.validity.variants import ORDER, Loss, MetricReport, ValidityReport, measure_validity

__all__ = [
    "ORDER",
    "Agreement",
    "ConstantAnswer",
    "Floors",
    "ImageReport",
    "Images",
    "JudgedReport",
    "Loss",
    "MetricReport",
    "NotComparableError",
    "UntouchedImages",
    "ValidityReport",
    "measure_agreement",
    "measure_floors",
    "measure_images",
    "measure_judged",
    "measure_validity",
]

_MODULES = {
    "execution_agreement": ("measure_agreement",),
    "floors": ("ConstantAnswer", "Floors", "UntouchedImages", "measure_floors"),
    "images": ("Agreement", "ImageReport", "Images", "measure_images"),
    "judged": ("JudgedReport", "NotComparableError", "measure_judged"),
    "variants": ("ORDER", "Loss", "MetricReport", "ValidityReport", "measure_validity"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
