"""How each shipped model is built, trained and written, in the order in which they depend on each other."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

import torch
from torch import nn
from transformers import Swin2SRConfig, Swin2SRForImageSuperResolution, ViTForImageClassification, ViTModel

from evaluator.core.expert import ExpertSpec
from evaluator.execution.experts.colorizer import Colorizer, ColorizerConfig
from evaluator.execution.experts.imaging import RestorationExpert
from evaluator.execution.experts.restoration import ColorizerExpert, RestormerExpert, Swin2SRExpert
from evaluator.execution.experts.restormer import Restormer, RestormerConfig
from evaluator.miniature.degradations import SHRINKING, Degradation
from evaluator.miniature.scenes import SIZE
from evaluator.miniature.vocabulary import CLASS_LABELS
from evaluator.studies.experts import language
from evaluator.studies.experts.data.bank import Bank
from evaluator.studies.experts.reading.recipes import READING_RECIPES
from evaluator.studies.experts.recipe import Recipe
from evaluator.studies.experts.recognition import ClassificationObjective, SimilarityModel, SimilarityObjective
from evaluator.studies.experts.restoration import ColourObjective, PixelObjective, RestorationData
from evaluator.studies.experts.scene_encoder import NAME as SCENE_ENCODER
from evaluator.studies.experts.scene_encoder import trained_encoder, vision_config
from evaluator.studies.experts.tableaux.recipes import TABLEAU_RECIPES
from evaluator.studies.experts.text_recipes import TEXT_RECIPES
from evaluator.studies.experts.vision_recipes import VISION_RECIPES
from evaluator.training.export import export_transformers, write_config, write_weights
from evaluator.training.loop import Objective, Schedule

RESTORER_FOLDERS: Mapping[Degradation, str] = {
    Degradation.LOW_RESOLUTION: "super-resolution",
    Degradation.NOISE: "denoising",
    Degradation.BLUR: "deblurring",
    Degradation.GRAYSCALE: "colorization",
}
"""Folder of weights of the expert that removes each degradation."""

_RESTORER_CLASSES: Mapping[Degradation, type[RestorationExpert]] = {
    Degradation.LOW_RESOLUTION: Swin2SRExpert,
    Degradation.NOISE: RestormerExpert,
    Degradation.BLUR: RestormerExpert,
    Degradation.GRAYSCALE: ColorizerExpert,
}


def load_restorers(*, weights: Path, before: Degradation) -> dict[Degradation, RestorationExpert]:
    """The trained experts that a gold plan calls before the one for `before`."""
    order = list(RESTORER_FOLDERS)
    return {
        degradation: _RESTORER_CLASSES[degradation](
            spec=ExpertSpec(
                tool="",
                id=folder,
                implementation="",
                path=weights / folder,
                weights_digest="",
                code_version="",
                batch_size=8,
            ),
            device="cpu",
        )
        for degradation, folder in RESTORER_FOLDERS.items()
        if order.index(degradation) < order.index(before)
    }


def _data(*, bank: Bank, weights: Path, degradation: Degradation) -> RestorationData:
    restorers = load_restorers(weights=weights, before=degradation)
    # Super resolution learns little from blurred images, which have no detail, and from noisy ones.
    others = 0.3 if degradation is Degradation.LOW_RESOLUTION else 0.5
    return RestorationData(bank=bank, degradation=degradation, restorers=restorers, others=others)


def _super_resolution() -> nn.Module:
    model: nn.Module = Swin2SRForImageSuperResolution(
        Swin2SRConfig(
            image_size=SIZE // SHRINKING,
            patch_size=1,
            num_channels=3,
            embed_dim=48,
            depths=[3, 3],
            num_heads=[4, 4],
            window_size=8,
            mlp_ratio=2.0,
            upscale=SHRINKING,
            img_range=1.0,
            upsampler="pixelshuffledirect",
            resi_connection="1conv",
            drop_path_rate=0.0,
        )
    )
    begin_as_bilinear(model)
    return model


@torch.no_grad()
def begin_as_bilinear(model: nn.Module) -> None:
    """Set the first weights of a light Swin2SR so that it enlarges bilinearly before it has learnt anything.

    Unlike other networks of its kind it has no path around the body that enlarges the image, and spends most of a short
    training on learning to pass it through.
    """
    first = model.get_parameter("swin2sr.first_convolution.weight")
    last = model.get_parameter("upsample.conv.weight")
    body = model.get_parameter("swin2sr.conv_after_body.weight")
    for name in ("swin2sr.first_convolution.bias", "upsample.conv.bias", "swin2sr.conv_after_body.bias"):
        model.get_parameter(name).zero_()
    body.zero_()
    first[:3].zero_()
    last.zero_()
    taps = _bilinear_taps(scale=SHRINKING)
    for channel in range(3):
        first[channel, channel, 1, 1] = 1
        for row, vertical in enumerate(taps):
            for column, horizontal in enumerate(taps):
                last[(channel * SHRINKING + row) * SHRINKING + column, channel] = torch.outer(vertical, horizontal)


def _bilinear_taps(*, scale: int) -> list[torch.Tensor]:
    """For each new pixel in an old one: the weights of the old one before, of itself and of the one after."""
    shifts = [(k + 0.5) / scale - 0.5 for k in range(scale)]
    return [torch.tensor([max(0.0, -shift), 1 - abs(shift), max(0.0, shift)]) for shift in shifts]


_DENOISER = RestormerConfig(dim=12, num_blocks=(1, 1, 1, 2), num_refinement_blocks=0)
_DEBLURRER = RestormerConfig(dim=12, num_blocks=(1, 1, 1, 2), num_refinement_blocks=0)
_COLORIZER = ColorizerConfig(widths=(16, 32, 64, 96))


def _classifier() -> nn.Module:
    model: nn.Module = ViTForImageClassification(
        vision_config(
            id2label=dict(enumerate(CLASS_LABELS)),
            label2id={label: index for index, label in enumerate(CLASS_LABELS)},
        )
    )
    return model


def _begin_classifier(model: nn.Module, folders: Mapping[str, Path]) -> None:
    model.get_submodule("vit").load_state_dict(trained_encoder(folders))


def _similarity() -> nn.Module:
    return SimilarityModel(ViTModel(vision_config(), add_pooling_layer=False))


def _begin_similarity(model: nn.Module, folders: Mapping[str, Path]) -> None:
    model.get_submodule("encoder").load_state_dict(trained_encoder(folders))


def _export_encoder(model: nn.Module, folder: Path) -> None:
    assert isinstance(model, SimilarityModel)
    export_transformers(model.encoder, folder)


def _exporter(config: RestormerConfig | ColorizerConfig) -> Callable[[nn.Module, Path], None]:
    def export(model: nn.Module, folder: Path) -> None:
        write_config(config={"architecture": type(model).__name__, **asdict(config)}, folder=folder)
        write_weights(model=model, folder=folder)

    return export


def _pixels(degradation: Degradation, *, softness: float = 0.01) -> Callable[[Bank, Path], Objective]:
    return lambda bank, weights: PixelObjective(
        _data(bank=bank, weights=weights, degradation=degradation), softness=softness
    )


def _colours(bank: Bank, weights: Path) -> Objective:
    return ColourObjective(_data(bank=bank, weights=weights, degradation=Degradation.GRAYSCALE))


RECIPES: Mapping[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            name="super-resolution",
            title="Image Super Resolution: Swin2SR, 4x",
            build=_super_resolution,
            objective=_pixels(Degradation.LOW_RESOLUTION, softness=0.04),
            schedule=Schedule(steps=5000, learning_rate=2e-3),
            export=export_transformers,
        ),
        Recipe(
            name="denoising",
            title="Image Denoising: Restormer",
            build=lambda: Restormer(_DENOISER),
            objective=_pixels(Degradation.NOISE),
            schedule=Schedule(steps=1600, learning_rate=2e-3),
            export=_exporter(_DENOISER),
        ),
        Recipe(
            name="deblurring",
            title="Image Deblurring: Restormer",
            build=lambda: Restormer(_DEBLURRER),
            objective=_pixels(Degradation.BLUR),
            schedule=Schedule(steps=2000, learning_rate=2e-3),
            export=_exporter(_DEBLURRER),
        ),
        Recipe(
            name="colorization",
            title="Colorization: siggraph17-style network",
            build=lambda: Colorizer(_COLORIZER),
            objective=_colours,
            schedule=Schedule(steps=2500, learning_rate=2e-3),
            export=_exporter(_COLORIZER),
        ),
        *VISION_RECIPES,
        Recipe(
            name="classification",
            title="Image Classification: Vision Transformer",
            build=_classifier,
            objective=lambda bank, weights: ClassificationObjective(bank),  # noqa: ARG005
            schedule=Schedule(steps=1500, learning_rate=1e-3),
            export=export_transformers,
            begin=_begin_classifier,
            needs=(SCENE_ENCODER,),
        ),
        Recipe(
            name="vit-score",
            title="ViT score: Vision Transformer encoder",
            build=_similarity,
            objective=lambda bank, weights: SimilarityObjective(bank),  # noqa: ARG005
            schedule=Schedule(steps=1500, learning_rate=1e-3),
            export=_export_encoder,
            begin=_begin_similarity,
            needs=(SCENE_ENCODER,),
        ),
        Recipe(
            name="bert-score",
            title="BERT score: masked language model of the bilingual grammar",
            build=language.build,
            objective=lambda bank, weights: language.MaskedLanguageObjective(),  # noqa: ARG005
            schedule=Schedule(steps=1200, learning_rate=2e-3),
            export=language.export,
            pictures=False,
        ),
        *TEXT_RECIPES,
        *TABLEAU_RECIPES,
        *READING_RECIPES,
    )
}
"""In the order of training: a restoration expert needs those before it."""
