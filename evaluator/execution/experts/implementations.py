"""The implementations of experts by their names in profiles. Imports no model code."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from types import MappingProxyType
from typing import cast

from evaluator.core.expert import ExpertFactory
from evaluator.core.process import import_without_collection
from evaluator.execution.experts.plug_ins import PlugIn, plug_in, plug_in_names


@dataclass(frozen=True, slots=True)
class Implementation:
    """The class of an expert, imported on demand."""

    module: str
    """Name of the module in this package."""
    name: str
    """Name of the class, an `ExpertFactory`."""
    _: KW_ONLY
    code_version: str
    """Incremented by hand when a change of the code affects results; part of store keys and digests."""
    samples: bool = False
    """Whether it draws random numbers, with a seed for each item (`SamplingExpert`)."""
    resizes: bool = False
    """Whether it brings pictures to one size, so that pictures of different sizes can share a batch."""
    is_rule: bool = False
    """Whether it works by rules, without weights."""
    plug_in: PlugIn | None = None
    """The package that it comes from, if it is none of PlanArena's."""

    def factory(self) -> ExpertFactory:
        if self.plug_in is not None:
            return self.plug_in.factory()
        return cast(ExpertFactory, getattr(import_without_collection(f"{__package__}.{self.module}"), self.name))


IMPLEMENTATIONS: Mapping[str, Implementation] = MappingProxyType(
    {
        "swin2sr": Implementation("restoration", "Swin2SRExpert", code_version="1"),
        "restormer": Implementation("restoration", "RestormerExpert", code_version="1"),
        "siggraph17": Implementation("restoration", "ColorizerExpert", code_version="1"),
        "rt-detr": Implementation("detection", "RTDetrExpert", code_version="2"),
        "detr": Implementation("detection", "DetrExpert", code_version="3"),
        "vit-gpt2-captioner": Implementation("recognition", "CaptioningExpert", code_version="1", resizes=True),
        "vilt-vqa": Implementation("visual_questions", "VisualQuestionExpert", code_version="1"),
        "stable-diffusion": Implementation("drawing", "DrawingExpert", code_version="1", samples=True),
        "controlnet": Implementation("drawing", "GuidedDrawingExpert", code_version="1", samples=True),
        "image-variation": Implementation("editing", "VariationExpert", code_version="1", samples=True),
        "latent-inpainting": Implementation("editing", "PartialEditingExpert", code_version="1", samples=True),
        "instruct-pix2pix": Implementation("editing", "PictureEditingExpert", code_version="1", samples=True),
        "vit-classifier": Implementation("recognition", "ViTClassifierExpert", code_version="1", resizes=True),
        "t5": Implementation("language", "T5Expert", code_version="1"),
        "bart": Implementation("language", "BartExpert", code_version="1"),
        "gpt2": Implementation("language", "GPT2Expert", code_version="1"),
        "roberta-fill-mask": Implementation("language", "FillMaskExpert", code_version="1"),
        "distilbert-qa": Implementation("language", "AnswerExpert", code_version="1"),
        "bert-sentiment": Implementation("language", "SentimentExpert", code_version="1"),
        "vit-labels": Implementation("recognition", "ViTLabelsExpert", code_version="1", resizes=True),
        "select-labels": Implementation("rules", "SelectLabels", code_version="1", is_rule=True),
        "select-boxes": Implementation("rules", "SelectBoxes", code_version="1", is_rule=True),
        "select-masks": Implementation("rules", "SelectMasks", code_version="1", is_rule=True),
        "count-labels": Implementation("rules", "CountLabels", code_version="1", is_rule=True),
        "count-boxes": Implementation("rules", "CountBoxes", code_version="1", is_rule=True),
        "count-masks": Implementation("rules", "CountMasks", code_version="1", is_rule=True),
        "cropping": Implementation("rules", "Cropping", code_version="1", is_rule=True),
        "highlighting": Implementation("rules", "Highlighting", code_version="1", is_rule=True),
        "cutting-out": Implementation("rules", "CuttingOut", code_version="1", is_rule=True),
        "harmonic-filling": Implementation("rules", "Inpainting", code_version="1", is_rule=True),
        "line-drawing": Implementation("rules", "LineDrawing", code_version="1", is_rule=True),
        "videomae": Implementation("clips", "VideoClassificationExpert", code_version="1"),
        "videomae-gpt2": Implementation("clips", "VideoCaptioningExpert", code_version="1"),
        "hed": Implementation("maps", "SoftEdgeExpert", code_version="1"),
        "dpt": Implementation("maps", "DepthExpert", code_version="2"),
        "dpt-normals": Implementation("maps", "NormalExpert", code_version="2"),
        "vitpose": Implementation("poses", "PoseExpert", code_version="1"),
        "rt-detr-boxes": Implementation("detection", "BoxesExpert", code_version="1"),
        "sam-instances": Implementation("segmentation", "InstanceExpert", code_version="1"),
        "sam-points": Implementation("segmentation", "PointsExpert", code_version="1"),
        "sam-mask": Implementation("segmentation", "RoughMaskExpert", code_version="1"),
        "sam-everything": Implementation("segmentation", "EverythingExpert", code_version="1"),
        "owl-vit": Implementation("grounding", "GroundingExpert", code_version="1"),
        "trocr": Implementation("recognition", "CharacterRecognitionExpert", code_version="1"),
        "t5-tags": Implementation("language", "TagsExpert", code_version="1"),
        "cast-labels": Implementation("casting", "CastLabels", code_version="1", resizes=True),
        "cast-boxes": Implementation("casting", "CastBoxes", code_version="1"),
        "cast-motions": Implementation("casting", "CastMotions", code_version="1"),
        "cast-captions": Implementation("casting", "CastCaptions", code_version="1", resizes=True),
        "cast-stories": Implementation("casting", "CastStories", code_version="1"),
        "cast-questions": Implementation("casting", "CastQuestions", code_version="1"),
        "cast-grounding": Implementation("casting", "CastGrounding", code_version="1"),
        "cast-drawing": Implementation("casting", "CastDrawing", code_version="1", samples=True),
        "cast-guided-drawing": Implementation("casting", "CastGuidedDrawing", code_version="1", samples=True),
        "cast-selection": Implementation("casting", "CastSelection", code_version="1", is_rule=True),
        "extractive-chat": Implementation("chatting", "ExtractiveChat", code_version="1", is_rule=True),
        "operators-chat": Implementation("chatting", "OperatorsChat", code_version="1", is_rule=True),
        "weather": Implementation("almanac", "Weather", code_version="1", is_rule=True),
        "weather-in-words": Implementation("almanac", "WeatherInWords", code_version="1", is_rule=True),
        "time": Implementation("almanac", "Time", code_version="1", is_rule=True),
        "video-page": Implementation("pages", "VideoPage", code_version="1", is_rule=True),
        "detr-boxes": Implementation("detection", "DetrBoxesExpert", code_version="1"),
        "detr-panoptic": Implementation("released_segmentation", "PanopticExpert", code_version="1"),
        "segment-anything": Implementation("released_segmentation", "SegmentAnythingExpert", code_version="1"),
        "grounding-dino": Implementation("grounding", "GroundingDinoExpert", code_version="1"),
        "dpt-depth-map": Implementation("released_maps", "ReleasedDepthExpert", code_version="1"),
        "dpt-normal-map": Implementation("released_maps", "ReleasedNormalExpert", code_version="1"),
        "annotator-hed": Implementation("released_maps", "AnnotatedEdgeExpert", code_version="1"),
        "annotator-scribble": Implementation("released_maps", "AnnotatedScribbleExpert", code_version="1"),
        "vitpose-people": Implementation("poses", "PeopleExpert", code_version="1"),
        "llava": Implementation("visual_questions", "LlavaQuestionExpert", code_version="2", resizes=True),
        "videomae-actions": Implementation("clips", "ActionExpert", code_version="1"),
        "timesformer-gpt2": Implementation("clips", "StoryExpert", code_version="1"),
        "released-controlnet": Implementation(
            "released_drawing", "ReleasedGuidedDrawingExpert", code_version="1", samples=True
        ),
        "pixart": Implementation("released_drawing", "PixArtExpert", code_version="1", samples=True),
        "released-variation": Implementation(
            "released_drawing", "ReleasedVariationExpert", code_version="1", samples=True
        ),
        "released-pix2pix": Implementation(
            "released_drawing", "ReleasedPictureEditingExpert", code_version="1", samples=True
        ),
        "released-inpainting": Implementation(
            "released_drawing", "ReleasedInpaintingExpert", code_version="1", samples=True
        ),
        "speech-synthesis": Implementation("sounding", "SpeechSynthesis", code_version="1", is_rule=True),
        "music-grammar": Implementation("sounding", "MusicComposition", code_version="1", is_rule=True),
        "dubbing": Implementation("sounding", "Dubbing", code_version="1", is_rule=True),
        "still-film": Implementation("sounding", "StillFilm", code_version="1", is_rule=True),
        "text-to-video": Implementation("animation", "TextToVideo", code_version="1", samples=True, is_rule=True),
        "image-to-video": Implementation("animation", "ImageToVideo", code_version="1", samples=True, is_rule=True),
        "speech-recognition": Implementation("hearing", "SpeechRecognitionExpert", code_version="1"),
        "sound-classification": Implementation("hearing", "SoundClassificationExpert", code_version="1"),
        "whisper": Implementation("released_sounds", "ReleasedSpeechRecognitionExpert", code_version="1"),
        "wav2vec2-classifier": Implementation("released_sounds", "ReleasedSoundClassificationExpert", code_version="1"),
        "musicgen": Implementation("released_sounds", "ReleasedMusicExpert", code_version="1", samples=True),
        "bark": Implementation("released_sounds", "ReleasedSpeechExpert", code_version="1", samples=True),
        "released-text-to-video": Implementation(
            "released_clips", "ReleasedTextToVideoExpert", code_version="1", samples=True
        ),
        "i2vgen-xl": Implementation("released_clips", "ReleasedImageToVideoExpert", code_version="1", samples=True),
        "git-vqa": Implementation("visual_questions", "GitQuestionExpert", code_version="3", resizes=True),
    }
)

SCORER_CODE_VERSIONS: Mapping[str, str] = MappingProxyType({"ViT": "2", "BERT": "2", "CLIP": "2"})
"""The code versions of the scorers of `evaluator.scoring.metrics`."""


def implementation_of(name: str) -> Implementation:
    """The implementation with this name, of PlanArena or of an installed package; LookupError if there is none."""
    if (found := IMPLEMENTATIONS.get(name)) is not None:
        return found
    if name not in (plugged := plug_in_names()):
        raise LookupError(f"no expert implementation {name!r}; there are: {', '.join([*IMPLEMENTATIONS, *plugged])}")
    of_package = plug_in(name)
    return Implementation(
        of_package.module, of_package.attribute, code_version=of_package.code_version, plug_in=of_package
    )
