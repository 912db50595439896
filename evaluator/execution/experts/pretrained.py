"""Loads models from folders: safetensors only, no network access, no third-party code.

Images are prepared by the checkpoint's processor with its `preprocessor_config.json`. The default without that file is
ViT's: a square, bilinear, mean and deviation 0.5.
"""

from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import torch
from PIL import Image as PillowImage
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers.utils import logging

from evaluator.core.expert import ExpertSpec
from evaluator.core.values import Image
from evaluator.execution.experts.devices import loading
from evaluator.execution.experts.weights import WeightsError

_MOST_NAMES = 5
_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def dtype_of(precision: str) -> torch.dtype:
    """The torch type of a profile's `precision`; WeightsError if it is unknown."""
    if precision not in _DTYPES:
        raise WeightsError(f"there is no precision {precision!r}; there are: {', '.join(_DTYPES)}")
    return _DTYPES[precision]


_NETWORKS: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()


def shared(key: Hashable, *, load: Callable[[], Any]) -> Any:
    """The network of a key, loaded unless an expert of this process has it.

    Args:
        key: everything on which the network depends: its class, the digest of its weights, precision, and device.
        load: loads it. Experts must not change what they share.
    """
    with loading():
        network = _NETWORKS.get(key)
        if network is None:
            network = _NETWORKS[key] = load()
        return network


def networks_in_use(keys: Mapping[str, Hashable]) -> dict[str, Any]:
    """The networks of keys that experts of this process have, by name."""
    with loading():
        found = {name: _NETWORKS.get(key) for name, key in keys.items()}
    return {name: network for name, network in found.items() if network is not None}


def share(key: Hashable, network: Any) -> None:
    """Let other experts use a network while this one is loaded; see `shared`."""
    _NETWORKS[key] = network


def forget_networks() -> None:
    """Have every network be loaded again. Experts keep theirs."""
    _NETWORKS.clear()


def load_pretrained(
    model_class: Any, *, folder: Path, device: str, precision: str = "float32", **settings: object
) -> Any:
    """A `transformers` model with the weights of a folder, in the given precision, ready for inference.

    Raises:
        WeightsError: the weights do not match the configuration, so that part of the model would be random.
    """
    with loading():
        logging.disable_progress_bar()
        verbosity = logging.get_verbosity()
        logging.set_verbosity_error()  # its reports are checked below
        try:
            model, report = model_class.from_pretrained(
                folder,
                local_files_only=True,
                use_safetensors=True,
                trust_remote_code=False,
                dtype=dtype_of(precision),
                output_loading_info=True,
                # Otherwise it raises an unspecific error; mismatches are refused below.
                ignore_mismatched_sizes=True,
                **settings,
            )
        finally:
            logging.set_verbosity(verbosity)
    # No expert uses the output of an encoder's pooler.
    missing = sorted(name for name in report["missing_keys"] if "pooler." not in name)
    if missing or report["mismatched_keys"]:
        names = ", ".join(missing[:_MOST_NAMES]) or "the right shapes"
        more = f" and {len(missing) - _MOST_NAMES} more" if len(missing) > _MOST_NAMES else ""
        raise WeightsError(f"the weights in {folder} lack {names}{more}")
    return model.to(device).eval()


def load_model(model_class: Any, *, spec: ExpertSpec, device: str) -> Any:
    """`load_pretrained` with the weights and precision of a profile's entry. Experts with equal weights share it."""
    return shared(
        network_key(model_class, spec=spec, device=device),
        load=lambda: load_pretrained(model_class, folder=spec.path, device=device, precision=spec.precision),
    )


def network_key(network: object, *, spec: ExpertSpec, device: str) -> Hashable:
    """The key of a network with the weights of a profile's entry, for `shared`."""
    return network, str(spec.path), spec.weights_digest, spec.precision, device


def load_state(
    model: nn.Module, *, folder: Path, device: str, precision: str = "float32", unused: tuple[str, ...] = ()
) -> None:
    """Load `model.safetensors` of a folder into another model, in the given precision, ready for inference.

    Args:
        unused: prefixes of released parameters that this model does not have.

    Raises:
        WeightsError: the weights do not match the model.
    """
    model.to(device)
    stored = load_file(folder / "model.safetensors", device=device)
    state = {name: value.float() for name, value in stored.items() if not name.startswith(unused)}
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        raise WeightsError(f"the weights in {folder} do not fit the model: {error}") from error
    model.to(dtype=dtype_of(precision)).eval()


_SETTINGS = "preprocessor_config.json"


def resized(image: Image, *, size: int) -> Image:
    """The image at `size` x `size` pixels, bilinear as by ViT's processor."""
    if image.size == (size, size):
        return image
    return image.resize((size, size), PillowImage.Resampling.BILINEAR)


class Preparation:
    """Resizes images and normalizes batches for a checkpoint."""

    def __init__(self, processor_class: Any, *, folder: Path, size: int, normalises: bool = True) -> None:
        """Args:
        processor_class: a processor of `transformers` that needs no torchvision.
        folder: folder of the weights.
        size: side of the square, for folders without settings.
        normalises: for these folders, whether values in [0, 1] are mapped to [-1, 1].

        Raises:
            WeightsError: the settings are invalid.
        """
        self._size = size
        self._normalises = normalises
        self._processor: Any = None
        if (folder / _SETTINGS).is_file():
            try:
                self._processor = processor_class.from_pretrained(folder, local_files_only=True)
            except (ValueError, TypeError, KeyError) as error:
                raise WeightsError(f"{folder / _SETTINGS} cannot be read: {error}") from error

    def resized(self, image: Image) -> Image:
        """An 8-bit image of any size at the model's size."""
        if self._processor is None:
            return resized(image, size=self._size)
        # Rescaling and normalization are applied to the batch; until then images stay 8-bit.
        settings = {"do_rescale": False, "do_normalize": False, "return_tensors": "np"}
        (values,) = self._processor(images=image.convert("RGB"), input_data_format="channels_last", **settings)[
            "pixel_values"
        ]
        return PillowImage.fromarray(np.ascontiguousarray(values.transpose(1, 2, 0)).astype(np.uint8))

    def normalised(self, values: Tensor) -> Tensor:
        """Normalize float32 values in [0, 1] of shape (batch, 3, height, width) for the model."""
        if self._processor is None:
            return values * 2 - 1 if self._normalises else values
        if not self._processor.do_rescale:
            values = values * 255
        elif self._processor.rescale_factor != 1 / 255:
            values = values * (255 * self._processor.rescale_factor)
        if not self._processor.do_normalize:
            return values
        mean = values.new_tensor(self._processor.image_mean)[:, None, None]
        deviation = values.new_tensor(self._processor.image_std)[:, None, None]
        return (values - mean) / deviation
