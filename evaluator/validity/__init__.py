"""Does the measure measure? Gold plans against changed ones, floors, and image scores that share no training.

`variants` scores gold plans and changes of them, `images` compares the image score with measures that were not trained
on degradations, `floors` says what answers without a plan score.
"""

from evaluator.validity.floors import ConstantAnswer, Floors, UntouchedImages, measure_floors
from evaluator.validity.images import Agreement, ImageReport, Images, measure_images
from evaluator.validity.variants import ORDER, Loss, MetricReport, ValidityReport, measure_validity

__all__ = [
    "ORDER",
    "Agreement",
    "ConstantAnswer",
    "Floors",
    "ImageReport",
    "Images",
    "Loss",
    "MetricReport",
    "UntouchedImages",
    "ValidityReport",
    "measure_floors",
    "measure_images",
    "measure_validity",
]
