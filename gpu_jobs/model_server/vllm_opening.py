"""Opening a model in vLLM in another container: a receiver takes the files, ends, and vLLM serves them at its address.

vLLM serves all workers of an evaluation, whose model is one and the same: the first worker brings the files, and the
others find it serving.
"""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from evaluator.canonical_json import JsonValue, digest
from evaluator.isolation.address import Address
from evaluator.planners.language_models.admission.config_fields import ConfigError, checked_fields
from evaluator.planners.language_models.admission.rules import CONFIG, ModelRefusedError, end_tokens, settings_of
from evaluator.planners.language_models.errors import ModelError, ModelUnusableError
from evaluator.planners.language_models.protocol import FailureKind
from evaluator.planners.language_models.vllm.api import VllmApi, VllmError
from evaluator.planners.language_models.vllm.model import ModelFacts, VllmModel
from gpu_jobs.model_server.channel import ChannelError
from gpu_jobs.model_server.client import DEADLINES, Deadlines
from gpu_jobs.model_server.delivery import Delivered, DeliveryError, deliver, soon
from gpu_jobs.model_server.digests import model_digest
from gpu_jobs.model_server.remote import DELIVERY_SECONDS, RemoteServer, greeted, plain_files

logger = logging.getLogger(__name__)

_TOKENIZER_CONFIG, _TEMPLATE = "tokenizer_config.json", "chat_template.jinja"
_LARGEST_SETTINGS = 32 * 1024 * 1024
_LOOK_SECONDS = 5.0
_HELLO_SECONDS = 3.0
_LOADS = 3
"""Servers that may end while they load a model: the cluster takes away one, but not three in a row."""


class _GoneError(Exception):
    """The server that was to load the model is not there any more."""


@dataclass(frozen=True, slots=True)
class _Placed:
    folder: Path
    address: Address


class VllmOpener:
    """Opens models in vLLM (`opening.ModelOpener`, `opening.Delivers`)."""

    def __init__(
        self, address: Address, *, patience_seconds: float, deadlines: Deadlines = DEADLINES, poll_seconds: float = 1.0
    ) -> None:
        """Args:
        address: where receiver and vLLM listen, one after the other.
        patience_seconds: how long to look for either.
        deadlines: `load` for vLLM to load the model, `answer` for one request.
        poll_seconds: between two looks.
        """
        self._address = address
        self._patience = patience_seconds
        self._deadlines = deadlines
        self._poll = poll_seconds
        self._placed: _Placed | None = None

    def deliver(self, folder: Path) -> None:
        """Bring a model's files to a receiver, unless vLLM serves them already.

        Raises:
            ModelUnusableError: the folder holds what no receiver takes.
            ModelError: there is neither, or the files did not arrive; another try may do better.
        """
        self._placed = None
        files = plain_files(folder)
        until, problem = soon(self._patience), "it has no address"
        while True:
            try:
                for address in self._address.found():
                    if self._serves(address) or self._delivered(files, address=address):
                        self._placed = _Placed(folder, address)
                        return
                    problem = "none takes files or serves them"
            except OSError as error:
                problem = str(error)
            if time.monotonic() >= until:
                seconds = f"{self._patience:g} seconds"
                raise ModelError(f"No model server was free at {self._address} within {seconds} ({problem}).")
            time.sleep(self._poll)

    def __call__(self, folder: Path, *, name: str, device: str, source: Mapping[str, JsonValue]) -> VllmModel:
        """See `opening.ModelOpener`. The server's own device counts."""
        del device
        for _ in range(_LOADS):
            if self._placed is None or self._placed.folder != folder:
                self.deliver(folder)
            placed, self._placed = self._placed, None
            assert placed is not None
            try:
                return self._opened(placed, name=name, source=source)
            except _GoneError:
                logger.warning("%s: vLLM ended at %s while it loaded %s", self._address, placed.address, name)
        raise ModelUnusableError(f"vLLM ended {_LOADS} times while it loaded the model.")

    def _opened(self, placed: _Placed, *, name: str, source: Mapping[str, JsonValue]) -> VllmModel:
        api = VllmApi(_url(placed.address), seconds=self._deadlines.answer)
        try:
            self._await_loaded(api, address=placed.address)
            facts = facts_of(placed.folder, name=name, source=source, api=api)
            together, each = self._deadlines.answer, self._deadlines.call
            return VllmModel(api, name=name, facts=facts, answer_seconds=together, call_seconds=each)
        except VllmError as error:
            api.close()
            unavailable = error.kind is FailureKind.UNAVAILABLE
            raise (ModelError if unavailable else ModelUnusableError)(
                f"vLLM {error}, while it loaded the model."
            ) from None
        except BaseException:
            api.close()
            raise

    def _await_loaded(self, api: VllmApi, *, address: Address) -> None:
        until = soon(self._deadlines.load)
        while not _is_ready(api):
            if time.monotonic() >= until:
                seconds = f"{self._deadlines.load:g} seconds"
                raise ModelUnusableError(f"vLLM did not load the model within {seconds}.")
            if self._is_gone(address):
                raise _GoneError
            time.sleep(self._poll)

    def _is_gone(self, address: Address) -> bool:
        """Whether its pod was replaced: by another address, or by a receiver that waits for files again."""
        try:
            if address not in list(self._address.found()):
                return True
            greeted(address, hello_seconds=_HELLO_SECONDS).close()
        except (OSError, ChannelError, ValidationError):
            return False
        return True

    def _serves(self, address: Address) -> bool:
        try:
            server = greeted(address, hello_seconds=_HELLO_SECONDS)
        except OSError:
            return False
        except (ChannelError, ValidationError):
            # A receiver speaks first, vLLM waits.
            api = VllmApi(_url(address), seconds=_LOOK_SECONDS)
            try:
                return _is_ready(api)
            except VllmError:
                return False
            finally:
                api.close()
        server.close()
        return False

    def _delivered(self, files: Mapping[str, Path], *, address: Address) -> bool:
        server: RemoteServer | None = None
        try:
            server = greeted(address, hello_seconds=_HELLO_SECONDS)
            reply = deliver(files, channel=server.channel, deadline=soon(DELIVERY_SECONDS))
        except (OSError, ChannelError, DeliveryError, ValidationError) as error:
            logger.info("%s: the model's files were not delivered: %s", address, error)
            return False
        finally:
            if server is not None:
                server.close()
        if isinstance(reply, Delivered):
            return True
        raise (ModelUnusableError if reply.unusable else ModelError)(reply.message)


def facts_of(folder: Path, *, name: str, source: Mapping[str, JsonValue], api: VllmApi) -> ModelFacts:
    """What a model's settings say, as its tokenizer in vLLM reads them.

    Raises:
        ModelRefusedError: they are no settings.
        ModelUnusableError: nothing says which token ends a text.
        VllmError: the server does not answer.
    """
    config, tokenizer = _settings(folder / CONFIG), _settings(folder / _TOKENIZER_CONFIG)
    eos = tokenizer.get("eos_token")
    text = eos.get("content") if isinstance(eos, Mapping) else eos
    own = api.tokens(text) if isinstance(text, str) and text else ()
    ends = end_tokens(_named_ends(config), own=own[0] if len(own) == 1 else None)
    if not ends:
        raise ModelUnusableError("Neither the model nor its tokenizer says which token ends a text.")
    template = _template(folder, tokenizer=tokenizer)
    architectures = config.get("architectures")
    architecture = architectures[0] if isinstance(architectures, list) and architectures else None
    return ModelFacts(
        ends=ends,
        templated=template is not None,
        identity={
            "kind": "vllm", "name": name, **source,
            "weights_digest": model_digest(folder),
            "architecture": architecture if isinstance(architecture, str) else None,
            "template_digest": None if template is None else digest(template),
            "batching": "vllm",
        },
    )  # fmt: skip


def _named_ends(config: Mapping[str, Any]) -> object:
    """`eos_token_id`, within the range that the local model server accepts.

    Raises:
        ModelRefusedError: it is none.
    """
    try:
        return checked_fields({"eos_token_id": config.get("eos_token_id")}, architecture="").get("eos_token_id")
    except ConfigError as error:
        raise ModelRefusedError(f"{CONFIG} {error}.") from None


def _template(folder: Path, *, tokenizer: Mapping[str, Any]) -> JsonValue:
    if (folder / _TEMPLATE).is_file():
        return _bounded(folder / _TEMPLATE).decode("utf-8", "replace")
    return tokenizer.get("chat_template") or None


def _settings(path: Path) -> dict[str, Any]:
    return settings_of(_bounded(path), name=path.name) if path.is_file() else {}


def _bounded(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(_LARGEST_SETTINGS + 1)
    if len(data) > _LARGEST_SETTINGS:
        raise ModelUnusableError(f"{path.name} has more than {_LARGEST_SETTINGS} bytes.")
    return data


def _is_ready(api: VllmApi) -> bool:
    """Whether vLLM answers; while it loads a model, nothing listens.

    Raises:
        VllmError: something else answers.
    """
    try:
        api.longest_context()
    except VllmError as error:
        if error.kind is FailureKind.UNAVAILABLE:
            return False
        raise
    return True


def _url(address: Address) -> str:
    host = f"[{address.host}]" if ":" in address.host else address.host
    return f"http://{host}:{address.port}"
