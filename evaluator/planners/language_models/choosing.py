"""Language models by name. Imports no torch: a model is loaded by its first call or by `prepare`.

lilliput-planner, lilliput-planner/VARIANT   comes with PlanArena, for whole plans of OpenAGI
lilliput-lumos/MODULE                        comes with PlanArena, for LUMOS's roles on lumos-mini
hf:ORG/NAME@REVISION                         from a model hub
dir:PATH                                     from a folder
chat:URL#MODEL-ID                            behind an OpenAI-compatible endpoint
endpoint:URL                                 behind a planner/1 endpoint that answers calls of roles
scripted:FILE                                answers from a file
"""

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Ability, Answer, Call, Failure, FailureKind, LanguageModel
from evaluator.planners.language_models import ModelError, shipped
from evaluator.planners.language_models.scripted import ScriptedModel

if TYPE_CHECKING:
    from evaluator.planners.language_models.local.model import LocalModel

FORMS = (
    "lilliput-planner[/VARIANT], lilliput-lumos/MODULE, hf:ORG/NAME@REVISION, dir:PATH, chat:URL#MODEL-ID[?OPTIONS], "
    "endpoint:URL or scripted:FILE"
)
CHAT_OPTIONS = ("api", "most_tokens", "reasoning_budget", "reasoning_effort", "reasons", "seed", "streamed")
"""Options of `chat:URL#MODEL-ID?NAME=VALUE&...`; see `ChatSettings`."""
_REPO = re.compile(r"[\w.-]+/[\w.-]+")


class ModelNameError(LookupError):
    """No language model has this name. The message is a sentence that lists the valid forms."""


class DeferredModel:
    """A `LanguageModel` on this machine, loaded by its first call. Thread-safe."""

    abilities = frozenset({Ability.GENERATE, Ability.SCORE, Ability.CONSTRAIN})

    def __init__(self, *, name: str, load: "Callable[[], LocalModel]") -> None:
        self.name = name
        self._load = load
        self._model: LocalModel | None = None
        self._lock = threading.Lock()

    def prepare(self) -> "LocalModel":
        """Load the model once.

        Raises:
            ModelError: it is not available.
        """
        with self._lock:
            if self._model is None:
                self._model = self._load()
            return self._model

    def answer(self, calls: Sequence[Call]) -> list[Answer | Failure]:
        try:
            model = self.prepare()
        except ModelError as error:
            return [Failure(kind=FailureKind.UNAVAILABLE, message=str(error))] * len(calls)
        return model.answer(calls)

    def count_tokens(self, text: str) -> int:
        return self.prepare().count_tokens(text)

    def identity(self) -> Mapping[str, JsonValue]:
        """See `LanguageModel.identity`; before loading, only the name."""
        if self._model is None:
            return {"kind": "local", "name": self.name, "loaded": False}
        return self._model.identity()


def language_model(name: str, *, device: str | None = None, allow_private: bool = True) -> LanguageModel:
    """The language model of a name in one of the forms above.

    Args:
        name: the name.
        device: torch device of models on this machine; None: a GPU if there is one.
        allow_private: whether a chat endpoint may have a loopback or private address.

    Raises:
        ModelNameError: the name is invalid or names a missing model.
        ScriptError: a script cannot be read.
    """
    kind, _, place = name.partition(":")
    if kind == "scripted" and place:
        return ScriptedModel.from_file(Path(place))
    if kind == "chat" and place:
        return _chat(name=name, place=place, allow_private=allow_private)
    if kind == "endpoint" and place:
        return _endpoint(name=name, url=place, allow_private=allow_private)
    if kind == "hf" and place:
        return _from_hub(name=name, place=place, device=device)
    if kind == "dir" and place:
        return _from_folder(name=name, folder=Path(place), device=device)
    if name.partition("/")[0] in {shipped.NAME, shipped.LUMOS}:
        try:
            return _from_folder(name=name, folder=shipped.shipped_folder(name), device=device)
        except LookupError as error:
            raise ModelNameError(f"There is no language model {name!r}: {error}.") from None
    raise ModelNameError(f"There is no language model {name!r}; models are named {FORMS}.")


def _chat(*, name: str, place: str, allow_private: bool) -> LanguageModel:
    from urllib.parse import parse_qsl, urlsplit

    import httpx
    from pydantic import TypeAdapter, ValidationError

    from evaluator.network.guarded_connections import EgressRefusedError
    from evaluator.network.ssrf_guard import check_url
    from evaluator.planners.language_models.chat.model import KEY_VARIABLE, ChatModel, ChatSettings

    url, _, rest = place.partition("#")
    model, _, options = rest.partition("?")
    if not url or not model:
        raise ModelNameError(f"{name!r} is not chat:URL#MODEL-ID, as in chat:https://host/v1#gpt-4o.")
    if {key for key, _ in parse_qsl(urlsplit(url).query, keep_blank_values=True)} - {"api-version"}:
        why = f"the address may have the query api-version only; a key belongs into {KEY_VARIABLE}"
        raise ModelNameError(f"{name!r}: {why}.")
    given = dict(parse_qsl(options, keep_blank_values=True))
    if unknown := sorted(given.keys() - {*CHAT_OPTIONS}):
        raise ModelNameError(f"{name!r}: there is no option {unknown[0]!r}; there are {', '.join(CHAT_OPTIONS)}.")
    try:
        check_url(url=url, allow_private=allow_private)
        settings = TypeAdapter(ChatSettings).validate_python(
            {"url": url, "model": model, "allow_private": allow_private, **given}
        )
        return ChatModel(settings, name=name)
    except ValidationError as error:
        first = error.errors()[0]
        raise ModelNameError(f"{name!r}: {'.'.join(map(str, first['loc']))}: {first['msg']}.") from None
    except (EgressRefusedError, ValueError, httpx.InvalidURL) as error:
        raise ModelNameError(f"{name!r}: {error}") from None


def _endpoint(*, name: str, url: str, allow_private: bool) -> LanguageModel:
    import httpx

    from evaluator.network.guarded_connections import EgressRefusedError
    from evaluator.network.ssrf_guard import check_url
    from evaluator.planners.language_models.chat.model import ChatModel, ChatSettings

    try:
        check_url(url=url, allow_private=allow_private)
        return ChatModel(ChatSettings(url=url, model="", allow_private=allow_private), name=name)
    except (EgressRefusedError, ValueError, httpx.InvalidURL) as error:
        raise ModelNameError(f"{name!r}: {error}") from None


def _from_hub(*, name: str, place: str, device: str | None) -> LanguageModel:
    repo, _, revision = place.partition("@")
    if not _REPO.fullmatch(repo) or not revision:
        raise ModelNameError(f"{name!r} is not hf:ORG/NAME@REVISION; the revision is a commit, a tag or a branch.")

    def load() -> "LocalModel":
        from evaluator.planners.language_models.fetching import fetch_model
        from evaluator.planners.language_models.local.model import LocalModel

        snapshot = fetch_model(repo=repo, revision=revision)
        source: dict[str, JsonValue] = {"repo": repo, "revision": revision, "commit": snapshot.commit}
        return LocalModel.from_folder(snapshot.folder, name=name, device=device or _device(), source=source)

    return DeferredModel(name=name, load=load)


def _from_folder(*, name: str, folder: Path, device: str | None) -> LanguageModel:
    if not (folder / "config.json").is_file():
        raise ModelNameError(f"{name!r}: there is no model in {folder}: it has no config.json.")

    def load() -> "LocalModel":
        from evaluator.planners.language_models.local.model import LocalModel

        return LocalModel.from_folder(folder, name=name, device=device or _device())

    return DeferredModel(name=name, load=load)


def _device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"
