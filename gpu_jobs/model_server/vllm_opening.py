"""Opens models in vLLM in another container: a model server receives the files, and vLLM serves them on the next port
while the worker stays connected to that server (`serving.Engine`)."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from evaluator.core.canonical_json import JsonValue, digest
from evaluator.core.language_model import FailureKind
from evaluator.planners.language_models import ModelError, ModelUnusableError
from evaluator.planners.language_models.vllm.api import VllmApi, VllmError
from evaluator.planners.language_models.vllm.model import ModelFacts, VllmModel
from evaluator.sandbox.admission.rules import CONFIG, end_tokens, settings_of
from evaluator.sandbox.isolation.address import Address
from gpu_jobs.model_server import PORT_OFFSET
from gpu_jobs.model_server import protocol as wire
from gpu_jobs.model_server.channel import ChannelError, ChannelTimeoutError
from gpu_jobs.model_server.client import DEADLINES, Deadlines
from gpu_jobs.model_server.delivery import soon
from gpu_jobs.model_server.digests import model_digest
from gpu_jobs.model_server.remote import RemoteOpener, RemoteServer

logger = logging.getLogger(__name__)

_TOKENIZER_CONFIG, _TEMPLATE = "tokenizer_config.json", "chat_template.jinja"
_LARGEST_SETTINGS = 32 * 1024 * 1024
_LOADS = 3
"""Attempts to load a model: the cluster may evict one server, but not three in a row."""


class _GoneError(Exception):
    """The engine has ended while it loaded the model, or its pod is gone."""


@dataclass(frozen=True, slots=True)
class _Placed:
    folder: Path
    server: RemoteServer


class PlacedVllm(VllmModel):
    """A model in vLLM that ends with the connection to the server that received its files."""

    def __init__(
        self, api: VllmApi, *, server: RemoteServer, name: str, facts: ModelFacts, deadlines: Deadlines
    ) -> None:
        """Args:
        api: of vLLM.
        server: that received the files.
        name: of the model.
        facts: from the model's files.
        deadlines: `answer` for a batch of calls, plus `call` for each of them.
        """
        super().__init__(api, name=name, facts=facts, answer_seconds=deadlines.answer, call_seconds=deadlines.call)
        self._server = server

    def close(self) -> None:
        """See `VllmModel.close`. vLLM ends."""
        super().close()
        self._server.close()


class VllmOpener:
    """Opens models in vLLM (`opening.ModelOpener`, `opening.Delivers`)."""

    def __init__(
        self, address: Address, *, patience_seconds: float, deadlines: Deadlines = DEADLINES, poll_seconds: float = 1.0
    ) -> None:
        """Args:
        address: of the model servers; vLLM listens on the next port.
        patience_seconds: how long to look for a free server.
        deadlines: `load` for vLLM to load the model, `answer` for one request.
        poll_seconds: polling interval.
        """
        self.is_shared = True
        self._servers = RemoteOpener(
            address, patience_seconds=patience_seconds, deadlines=deadlines, poll_seconds=poll_seconds
        )
        self._deadlines = deadlines
        self._poll = poll_seconds
        self._placed: _Placed | None = None

    def deliver(self, folder: Path) -> None:
        """Send a model's files to a free server.

        Raises:
            ModelUnusableError: the folder contains files that no server accepts.
            ModelError: there is no free server, or the files did not arrive; a retry may succeed.
        """
        if self._placed is not None:
            self._placed.server.close()
            self._placed = None
        server, _ = self._servers.placed(folder)
        self._placed = _Placed(folder, server)

    def __call__(self, folder: Path, *, name: str, device: str, source: Mapping[str, JsonValue]) -> VllmModel:
        """See `opening.ModelOpener`. The server's device is used."""
        del device
        for _ in range(_LOADS):
            if self._placed is None or self._placed.folder != folder:
                self.deliver(folder)
            placed, self._placed = self._placed, None
            assert placed is not None
            try:
                return self._opened(placed, name=name, source=source)
            except _GoneError as error:
                placed.server.close()
                logger.warning("%s: vLLM ended while it loaded %s: %s", placed.server.address, name, error)
            except BaseException:
                placed.server.close()
                raise
        raise ModelUnusableError(f"vLLM ended {_LOADS} times while it loaded the model.")

    def _opened(self, placed: _Placed, *, name: str, source: Mapping[str, JsonValue]) -> VllmModel:
        address = placed.server.address
        host = f"[{address.host}]" if ":" in address.host else address.host
        api = VllmApi(f"http://{host}:{address.port + PORT_OFFSET}", seconds=self._deadlines.answer)
        try:
            until = soon(self._deadlines.load)
            while not _is_ready(api):
                if soon(0) >= until:
                    seconds = f"{self._deadlines.load:g} seconds"
                    raise ModelUnusableError(f"vLLM did not load the model within {seconds}.")
                self._wait(placed.server)
            facts = facts_of(placed.folder, name=name, source=source, api=api)
            return PlacedVllm(api, server=placed.server, name=name, facts=facts, deadlines=self._deadlines)
        except VllmError as error:
            api.close()
            unavailable = error.kind is FailureKind.UNAVAILABLE
            raise (ModelError if unavailable else ModelUnusableError)(
                f"vLLM {error}, while it loaded the model."
            ) from None
        except BaseException:
            api.close()
            raise

    def _wait(self, server: RemoteServer) -> None:
        """Wait for one polling interval.

        Raises:
            _GoneError: the engine has ended, or the server is gone.
        """
        try:
            message = server.channel.receive(most=wire.MOST_SMALL_BYTES, deadline=soon(self._poll))
            raise _GoneError(wire.Ended.model_validate_json(message).why)
        except ChannelTimeoutError:
            return
        except (ChannelError, ValidationError) as error:
            raise _GoneError(str(error)) from None


def facts_of(folder: Path, *, name: str, source: Mapping[str, JsonValue], api: VllmApi) -> ModelFacts:
    """Facts from a model's settings and its tokenizer in vLLM.

    Raises:
        ModelRefusedError: the settings are invalid.
        ModelUnusableError: no token is known to end a text.
        VllmError: the server does not answer.
    """
    config, tokenizer = _settings(folder / CONFIG), _settings(folder / _TOKENIZER_CONFIG)
    eos = tokenizer.get("eos_token")
    text = eos.get("content") if isinstance(eos, Mapping) else eos
    own = api.tokens(text) if isinstance(text, str) and text else ()
    ends = end_tokens(config.get("eos_token_id"), own=own[0] if len(own) == 1 else None)
    if not ends:
        raise ModelUnusableError("Neither the model nor its tokenizer says which token ends a text.")
    template: JsonValue = tokenizer.get("chat_template") or None
    if (folder / _TEMPLATE).is_file():
        template = _bounded(folder / _TEMPLATE).decode("utf-8", "replace")
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


def _settings(path: Path) -> dict[str, Any]:
    return settings_of(_bounded(path), name=path.name) if path.is_file() else {}


def _bounded(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(_LARGEST_SETTINGS + 1)
    if len(data) > _LARGEST_SETTINGS:
        raise ModelUnusableError(f"{path.name} has more than {_LARGEST_SETTINGS} bytes.")
    return data


def _is_ready(api: VllmApi) -> bool:
    """Whether vLLM answers; while it loads a model, it does not listen.

    Raises:
        VllmError: the response is not vLLM's.
    """
    try:
        api.longest_context()
    except VllmError as error:
        if error.kind is FailureKind.UNAVAILABLE:
            return False
        raise
    return True
