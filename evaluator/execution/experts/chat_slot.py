"""The slot for the operator's chat model. Imports no model code.

`PLANARENA_CHAT=chat:URL#MODEL` names an OpenAI-compatible endpoint, without `/chat/completions`, and the exact model
name with which it answers, for the site and its workers; `PLANARENA_CHAT_KEY` is its key. Name and settings are part of
the digest of profiles that have the slot; address and key are not.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from evaluator.core.expert import ExpertSpec

TOOL = "openai_chat_model"
VARIABLE, KEY_VARIABLE = "PLANARENA_CHAT", "PLANARENA_CHAT_KEY"
SEED = 20240229
MOST_TOKENS = 512
_CHAT = re.compile(r"chat:(?P<url>https?://[^#\s]+)#(?P<model>\S+)")


class ChatError(LookupError):
    """The name of the operator's model is invalid; the message has the valid form."""


def operators_model(environment: Mapping[str, str]) -> ExpertSpec | None:
    """The expert of the operator's model; None if the environment names none.

    Raises:
        ChatError: its name is invalid.
    """
    if not environment.get(VARIABLE, "").strip():
        return None
    _, model = name_in(environment[VARIABLE])
    return ExpertSpec(
        tool=TOOL,
        id=f"operator/{model}",
        implementation="operators-chat",
        path=Path(),
        weights_digest="none",
        batch_size=1,
        parameters=MappingProxyType({"temperature": 0.0, "seed": SEED, "max_tokens": MOST_TOKENS}),
    )


def name_in(text: str) -> tuple[str, str]:
    """Address and model of a name.

    Raises:
        ChatError: it has another form.
    """
    match = _CHAT.fullmatch(text.strip())
    if match is None:
        raise ChatError(f"{VARIABLE} is {text!r}; it has the form chat:URL#MODEL, as chat:http://127.0.0.1:8001/v1#m")
    return match["url"], match["model"]
