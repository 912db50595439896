"""Looks up a language model at a hub before its weights are downloaded: its commit, its size, whether it is accepted.

Answers of the hub are not trusted: they are bounded in bytes and seconds, and validated. The settings files, including
`tokenizer.json`, pass the same checks as those of an uploaded checkpoint. The access token in `HF_TOKEN` is not sent:
evaluated models must be public.
"""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import httpx

from evaluator.network.bounded_answers import (
    AnswerLateError,
    AnswerTooLargeError,
    CompressedAnswerError,
    read_answer,
    save_answer,
)
from evaluator.network.guarded_connections import EgressRefusedError, call_deadline
from evaluator.network.hub_files import needed_files
from evaluator.network.ssrf_guard import egress_client, operator_client
from evaluator.network.transient import server_error
from evaluator.sandbox.admission.rules import CONFIG, ModelRefusedError
from evaluator.sandbox.admission.settings_files import SETTINGS_FILES, check_size, inspect_settings_confined, most_bytes
from evaluator.sandbox.admission.tokenizer_settings import TOKENIZER, check_tokenizer_file

_REPO = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9_][\w.-]{0,95}", re.ASCII)
_REVISION = re.compile(r"[\w.][\w./+-]{0,119}", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_MOST_DESCRIPTION_BYTES = 16 * 1024 * 1024
"""Repositories with tens of thousands of files have descriptions of a few megabytes."""
_MOST_REDIRECTS = 3
_LONGEST_LICENCE = 100
_LONGEST_SILENCE_SECONDS = 5.0
DEADLINE_SECONDS = 20.0
_TEMPLATES = re.compile(r"chat_template\.(jinja|json)")


class HubAwayError(Exception):
    """The hub did not answer, or sent an invalid answer; a retry may succeed. The message is a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubModel:
    """A language model at a commit."""

    model_id: str
    commit: str
    architecture: str
    weights_bytes: int
    """Size of the safetensors files to load."""
    parameters: int | None
    """Reported by the hub, if known."""
    licence: str
    """From the model card; empty if it has none."""


def look_up(
    *,
    model_id: str,
    revision: str,
    hub: str,
    deadline_seconds: float = DEADLINE_SECONDS,
    allow_private: bool = False,
    transport: httpx.BaseTransport | None = None,
    inspect: Callable[[Path], str] = inspect_settings_confined,
    clock: Callable[[], float] = time.monotonic,
) -> HubModel:
    """The model at the commit that a revision currently resolves to.

    Args:
        model_id: `ORG/NAME`.
        revision: a branch, a tag or a commit.
        hub: its address, such as `https://huggingface.co`.
        deadline_seconds: for all calls together; the check of the files has its own limits.
        allow_private: follow redirects of files to any host, as in a demo, and not only to public addresses.
        transport: for tests.
        inspect: checks the settings files in a folder and returns the architecture.
        clock: the time in seconds.

    Raises:
        ModelRefusedError: the model does not exist or cannot be evaluated; the message is a sentence.
        HubAwayError: the hub failed.
    """
    check_names(model_id=model_id, revision=revision)
    source = f"{model_id}@{revision}"
    silence = httpx.Timeout(min(_LONGEST_SILENCE_SECONDS, deadline_seconds))
    with (
        TemporaryDirectory(prefix="hub-") as folder,
        call_deadline(time.monotonic() + deadline_seconds),
        operator_client(url=hub, timeout=silence, transport=transport) as client,
        egress_client(allow_private=allow_private, timeout=silence) as elsewhere,
    ):
        session = _HubSession(
            client=client, elsewhere=elsewhere, hub=hub.rstrip("/"), until=clock() + deadline_seconds, clock=clock
        )
        description = _description(session=session, model_id=model_id, revision=revision)
        commit = description.get("sha")
        if not isinstance(commit, str) or not _COMMIT.fullmatch(commit):
            raise HubAwayError(
                f"The model hub {session.hub} names no commit; nothing was saved, please try again later."
            )
        sizes = _sizes(description, hub=session.hub)
        weights = _weights_bytes(sizes, source=source, hub=session.hub)
        check_tokenizer_file(has=TOKENIZER in sizes, size=sizes.get(TOKENIZER))
        if CONFIG not in sizes:
            raise ModelRefusedError(f"{source} has no {CONFIG}.")
        names = [name for name in SETTINGS_FILES if name in sizes]
        for name in names:
            check_size(name=name, size=sizes[name] or 0)
        for name in names:
            session.save(model_id=model_id, commit=commit, name=name, folder=Path(folder))
        architecture = inspect(Path(folder))
    safetensors = description.get("safetensors")
    total = safetensors.get("total") if isinstance(safetensors, dict) else None
    return HubModel(
        model_id=model_id,
        commit=commit,
        architecture=architecture,
        weights_bytes=weights,
        parameters=total if type(total) is int and 0 < total < 10**15 else None,
        licence=_licence(description),
    )


def check_names(*, model_id: str, revision: str) -> None:
    """Refuse an invalid model name or revision before any request.

    Raises:
        ModelRefusedError: it is invalid.
    """
    if not _REPO.fullmatch(model_id) or ".." in model_id or "--" in model_id:
        raise ModelRefusedError(f"{model_id[:100]!r} is no ORG/NAME of a model, such as org/name.")
    if not _REVISION.fullmatch(revision) or ".." in revision or "//" in revision:
        raise ModelRefusedError(f"{revision[:100]!r} is no branch, tag or commit.")


def language_model_files(names: Sequence[str]) -> tuple[str, ...]:
    """The files of a repository that a language model needs; no pickled weights, code or generation settings."""
    unused = (".bin", "generation_config.json")
    needed = [name for name in needed_files(names=names, folders=()) if not name.endswith(unused)]
    return tuple(sorted({*needed, *(name for name in names if _TEMPLATES.fullmatch(name))}))


class _HubSession:
    """The calls of a look-up, which share a deadline."""

    def __init__(
        self,
        *,
        client: httpx.Client,
        elsewhere: httpx.Client,
        hub: str,
        until: float,
        clock: Callable[[], float],
    ) -> None:
        self.hub = hub
        self._client, self._elsewhere, self._until, self._clock = client, elsewhere, until, clock

    def get(self, path: str, *, most: int) -> tuple[httpx.Response, bytes]:
        """The answer and its body; follows redirects within the hub."""
        with self._answer(path, leave=False) as answer, self._errors_as_away(name=path, most=most):
            return answer, read_answer(answer, most_bytes=most, until=self._until, clock=self._clock)

    def save(self, *, model_id: str, commit: str, name: str, folder: Path) -> None:
        """Write a file of the model to a folder. Hubs store large files on other hosts, so their redirects are
        followed."""
        most = most_bytes(name)
        with (
            self._answer(f"/{model_id}/resolve/{commit}/{name}", leave=True) as answer,
            (folder / name).open("xb") as file,
            self._errors_as_away(name=name, most=most),
        ):
            if answer.status_code != httpx.codes.OK:
                raise self.away(f"answered {server_error(answer.status_code)} for {name} of {model_id}")
            save_answer(answer, file=file, most_bytes=most, until=self._until, clock=self._clock)

    @contextmanager
    def _answer(self, path: str, *, leave: bool) -> Iterator[httpx.Response]:
        """The answer after redirects, without its body."""
        url, client = httpx.URL(self.hub + path), self._client
        origin = (url.scheme, url.host, url.port)
        for _ in range(_MOST_REDIRECTS + 1):
            with self._errors_as_away(name=path, most=0):
                answer = client.send(client.build_request("GET", url), stream=True)
            try:
                if not answer.is_redirect:
                    yield answer
                    return
                with self._errors_as_away(name=path, most=0):
                    url = url.join(answer.headers.get("Location", ""))
            finally:
                answer.close()
            client = self._client if (url.scheme, url.host, url.port) == origin else self._elsewhere
            if client is self._elsewhere and not leave:
                raise self.away("redirects to another host")
        raise self.away("redirects without end")

    @contextmanager
    def _errors_as_away(self, *, name: str, most: int) -> Iterator[None]:
        try:
            yield
        except (httpx.TimeoutException, AnswerLateError):
            raise self.away("is too slow: it did not answer in time") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self.away(f"did not answer ({error or type(error).__name__})") from None
        except EgressRefusedError as error:
            raise self.away(f"redirects to an address that may not be called: {str(error).rstrip('.')}") from None
        except CompressedAnswerError:
            raise self.away("compresses its answers although it was asked not to") from None
        except AnswerTooLargeError:
            raise self.away(f"sent more than {most} bytes for {name}") from None

    def away(self, what: str) -> HubAwayError:
        return HubAwayError(f"The model hub {self.hub} {what}; nothing was saved, please try again in a few minutes.")


def _description(*, session: _HubSession, model_id: str, revision: str) -> dict[str, Any]:
    """The hub's description of a public model."""
    path = f"/api/models/{model_id}/revision/{quote(revision, safe='')}?blobs=true"
    answer, body = session.get(path, most=_MOST_DESCRIPTION_BYTES)
    problem = answer.headers.get("X-Error-Code", "")
    if problem == "GatedRepo":
        raise _gated(model_id)
    if problem == "RevisionNotFound":
        raise ModelRefusedError(f"{model_id} has no revision {revision!r} at {session.hub}.")
    if answer.status_code in {401, 403, 404} or problem == "RepoNotFound":
        raise ModelRefusedError(f"{session.hub} has no model {model_id} that anybody can get: it may be private.")
    if answer.status_code != httpx.codes.OK:
        raise session.away(f"answered {server_error(answer.status_code, body=body)}")
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise session.away("answered something that is no description of a model")
    if content.get("private") or content.get("disabled"):
        raise ModelRefusedError(f"{session.hub} has no model {model_id} that anybody can get: it is private.")
    if content.get("gated"):
        raise _gated(model_id)
    return content


def _gated(model_id: str) -> ModelRefusedError:
    return ModelRefusedError(
        f"{model_id} is gated: its hub gives it only to those who accepted its licence. Upload it as a checkpoint if "
        "its licence allows that."
    )


def _sizes(description: Mapping[str, Any], *, hub: str) -> dict[str, int | None]:
    """Size of each file, if known."""
    siblings = description.get("siblings")
    files = [file for file in siblings if isinstance(file, dict)] if isinstance(siblings, list) else []
    names = {name: file.get("size") for file in files if isinstance(name := file.get("rfilename"), str)}
    if not names:
        raise HubAwayError(f"The model hub {hub} lists no files; nothing was saved, please try again later.")
    return {name: size if type(size) is int and size >= 0 else None for name, size in names.items()}


def _weights_bytes(sizes: Mapping[str, int | None], *, source: str, hub: str) -> int:
    weights = [name for name in language_model_files(list(sizes)) if name.endswith(".safetensors")]
    if not weights:
        others = sorted(name for name in sizes if name.endswith((".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack")))
        hint = f": it has {others[0][:80]}, and other forms of weights may run code" if others else ""
        raise ModelRefusedError(f"{source} has no weights as safetensors (model.safetensors or its parts){hint}.")
    if unknown := [name for name in weights if sizes[name] is None]:
        raise HubAwayError(f"The model hub {hub} does not say how large {unknown[0]} is; please try again later.")
    return sum(sizes[name] or 0 for name in weights)


def _licence(description: Mapping[str, Any]) -> str:
    card = description.get("cardData")
    declared = card.get("license") if isinstance(card, dict) else None
    texts = declared if isinstance(declared, list) else [declared]
    licence = ", ".join(text for text in texts if isinstance(text, str))
    return licence[:_LONGEST_LICENCE] if licence.isprintable() else ""
