"""Which implementations there are, where their code is, and its version. Importing this loads no model code."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Implementation:
    """Code that can be registered with `@expert`."""

    module: str
    """Imported when the first expert of it is loaded."""
    code_version: str
    """Raised by hand whenever the code around the model changes what it returns; part of store keys and digests."""
    samples: bool = False
    """Whether it draws random numbers and therefore gets a seed for each item (`SamplingExpert`)."""


IMPLEMENTATIONS: Mapping[str, Implementation] = MappingProxyType(
    {
        "swin2sr": Implementation(module="evaluator.experts.restoration", code_version="1"),
        "restormer": Implementation(module="evaluator.experts.restoration", code_version="1"),
        "siggraph17": Implementation(module="evaluator.experts.restoration", code_version="1"),
        "rt-detr": Implementation(module="evaluator.experts.detection", code_version="2"),
        "detr": Implementation(module="evaluator.experts.detection", code_version="2"),
        "vit-gpt2-captioner": Implementation(module="evaluator.experts.captioning", code_version="1"),
        "vilt-vqa": Implementation(module="evaluator.experts.visual_questions", code_version="1"),
        "stable-diffusion": Implementation(module="evaluator.experts.drawing", code_version="1", samples=True),
        "vit-classifier": Implementation(module="evaluator.experts.classification", code_version="1"),
        "t5": Implementation(module="evaluator.experts.generation", code_version="1"),
        "bart": Implementation(module="evaluator.experts.generation", code_version="1"),
        "gpt2": Implementation(module="evaluator.experts.generation", code_version="1"),
        "roberta-fill-mask": Implementation(module="evaluator.experts.reading", code_version="1"),
        "distilbert-qa": Implementation(module="evaluator.experts.reading", code_version="1"),
        "bert-sentiment": Implementation(module="evaluator.experts.reading", code_version="1"),
        "git-vqa": Implementation(module="evaluator.experts.git_questions", code_version="1"),
    }
)

SCORER_CODE_VERSIONS: Mapping[str, str] = MappingProxyType({"ViT": "1", "BERT": "1", "CLIP": "1"})
"""The same for the scorers of `evaluator.metrics`."""


def implementation_of(name: str) -> Implementation:
    """The implementation called `name`.

    Raises:
        LookupError: there is none; the message lists those there are.
    """
    try:
        return IMPLEMENTATIONS[name]
    except KeyError:
        raise LookupError(f"no expert implementation {name!r}; there are: {', '.join(IMPLEMENTATIONS)}") from None
