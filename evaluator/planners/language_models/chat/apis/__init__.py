"""The APIs of language-model services: payload, answer and events of each.

The providers' own packages are not used. `openai` 3.57 and `anthropic` 2.14 send the headers in
`OPENAI_CUSTOM_HEADERS` and `ANTHROPIC_CUSTOM_HEADERS` to every address, whatever their arguments; `anthropic` refuses a
client of `httpx`, and with it the guarded connections of `evaluator.network`; `openai` takes 2 to 3 ms of processor
time for a call that takes 0.9 ms here, which halves the throughput of a worker. Both raise on answers of compatible
services that lack a field or add an odd one.
"""

from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

from evaluator.planners.language_models.chat.apis.base import Api
from evaluator.planners.language_models.chat.apis.completions import ChatCompletions
from evaluator.planners.language_models.chat.apis.messages import Messages
from evaluator.planners.language_models.chat.apis.planner_endpoint import PlannerEndpoint
from evaluator.planners.language_models.chat.apis.responses import Responses

ApiName = Literal["auto", "chat", "responses", "messages"]
APIS: Mapping[str, Api] = {api.name: api for api in (ChatCompletions(), Responses(), Messages())}
PLANNER_ENDPOINT: Api = PlannerEndpoint()

__all__ = ["APIS", "PLANNER_ENDPOINT", "Api", "ApiName", "address_of", "api_of"]


def api_of(*, name: ApiName, url: str) -> Api:
    """The API of this name; for `auto`, the one whose path ends the address, else Chat Completions."""
    if name != "auto":
        return APIS[name]
    path = urlsplit(url).path.rstrip("/")
    return next((api for api in APIS.values() if path.endswith(api.path)), APIS["chat"])


def address_of(*, api: Api, url: str) -> str:
    """The address of calls below a base address. A query is kept, as of deployments with `?api-version=`."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    if not path.endswith(api.path):
        path = f"{path or api.root}{api.path}"
    return parts._replace(path=path).geturl()
