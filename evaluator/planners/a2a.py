"""Agents that speak Agent2Agent (A2A) over JSON-RPC as planners: versions 1.0 and 0.3 of the protocol.

Each turn is one message, with the request of planner/1 as a data part and a sentence as a text part. The answer is a
message or the artefacts of a task: a data part with a response of planner/1, or else the text as the plan. Tasks that
are still working are asked for again until the turn's time is over. All calls are guarded as those of endpoints.

Source: https://a2a-protocol.org/v1.0.0/specification
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

from evaluator.core.canonical_json import digest
from evaluator.core.planner import PlannerError, PlannerRequest, PlannerResponse
from evaluator.core.records import Reason
from evaluator.core.turns import ANSWERS, TurnRequest
from evaluator.network.guarded_connections import EgressRefusedError
from evaluator.network.ssrf_guard import check_url
from evaluator.network.transient import TransientError
from evaluator.planners.endpoint import EndpointPlanner, EndpointSettings, Fault, Watcher

CARD = "/.well-known/agent-card.json"
POLL_SECONDS = 0.5
"""Between two questions about a task that is still working."""
_MOST_PARTS = 100
_SHOWN = 300
_INSTRUCTION = (
    "Plan this request with the given tools. The data part is a request of the protocol planner/1. Answer with a data "
    'part of the form {"plan": {"steps": [{"id", "tool", "inputs", "outputs"}], "answers": [...]}}, and nothing else.'
)
_IN_TURNS = (
    "Take the next step of this task. The data part is a turn of the protocol planner/1. Answer with a data part that "
    "has one of stop, subgoal, actions, steps, answer and plan, and nothing else."
)
_INTERNAL = -32603
"""JSON-RPC's code of an internal error, after which another try may succeed."""
_WAITING = frozenset({"submitted", "working"})
_ENDS: Mapping[str, tuple[Reason, str]] = {
    "failed": (Reason.INVALID_RESPONSE, "The agent's task failed"),
    "canceled": (Reason.INVALID_RESPONSE, "The agent cancelled its task"),
    "rejected": (Reason.REFUSED_BY_ENDPOINT, "The agent rejected the request"),
    "input-required": (Reason.INVALID_RESPONSE, "The agent asks for more input, and a request has all there is"),
    "auth-required": (Reason.REFUSED_BY_ENDPOINT, "The agent asks for an authentication that it was not given"),
}
"""States of tasks that have no plan, with reason and beginning of the sentence."""


@dataclass(frozen=True, slots=True)
class _Interface:
    """Where an agent takes JSON-RPC."""

    url: str
    is_first: bool
    """Whether it speaks version 0.3, whose methods and parts have other names."""


class A2APlanner(EndpointPlanner):
    """An A2A agent. Its card is read once, at the first turn."""

    def __init__(
        self,
        settings: EndpointSettings,
        *,
        name: str = "a2a",
        sleep: Callable[[float], None] = time.sleep,
        watch: Watcher | None = None,
    ) -> None:
        """Args:
        settings: `url` is the agent's address or that of its card.
        name: name of the planner.
        sleep: waits between tries and between questions about a task.
        watch: receives each answer.
        """
        super().__init__(settings, name=name, sleep=sleep, watch=watch)
        self._interface: _Interface | None = None

    def _turn(self, *, request: PlannerRequest, started: float, tries: int) -> bytes:
        fault = Fault(started=started, tries=tries)
        deadline = time.monotonic() + self._settings.timeout_seconds
        if self._interface is None:
            self._interface = self._read_card(fault=fault, deadline=deadline)
        interface = self._interface
        send, ask = ("message/send", "tasks/get") if interface.is_first else ("SendMessage", "GetTask")
        result = self._answered(send, _message(request, interface=interface), fault=fault, deadline=deadline)
        task = _task_in(result)
        while task is not None and (state := _state(task)) not in ("completed", ""):
            if state not in _WAITING:
                raise _ended(state, said=self._shown(_words(task)), fault=fault)
            if not isinstance(task.get("id"), str):
                raise fault(Reason.INVALID_RESPONSE, "The agent's task is still working and has no id to ask for.")
            if time.monotonic() + POLL_SECONDS >= deadline:
                raise self._late(fault)
            self._sleep(POLL_SECONDS)
            task = _task_in(self._answered(ask, {"id": task["id"]}, fault=fault, deadline=deadline))
            if task is None:
                raise fault(Reason.INVALID_RESPONSE, "The agent was asked for its task, and answered with none.")
        parts = list(_parts(task if task is not None else result))
        response = _response(parts, in_turns=isinstance(request, TurnRequest), fault=fault)
        try:
            return json.dumps(response).encode()
        except RecursionError:
            raise fault(Reason.INVALID_RESPONSE, "The agent's answer is nested too deeply.") from None

    def _read_card(self, *, fault: Fault, deadline: float) -> _Interface:
        url = self._settings.url
        where = url if urlsplit(url).path.endswith(".json") else url.rstrip("/") + CARD
        card = _object(self._called("GET", where, fault=fault, deadline=deadline), what="agent card", fault=fault)
        found = _interface_of(card)
        if found is None:
            message = "The agent card names no interface with the binding JSONRPC and the version 1.0 or 0.3."
            raise fault(Reason.INVALID_RESPONSE, message)
        absolute = self._checked(where, found.url, fault=fault)
        if self._settings.header is not None and _origin(absolute) != _origin(where):
            message = f"The agent card names an address of another host than {urlsplit(where).hostname}, which must "
            raise fault(Reason.INVALID_RESPONSE, f"{message}not get the secret header.")
        return _Interface(url=absolute, is_first=found.is_first)

    def _checked(self, card: str, url: str, *, fault: Fault) -> str:
        """The address that a card names, absolute. Each connection is checked again."""
        try:
            absolute = urljoin(card, url)
            check_url(url=absolute, allow_private=self._settings.allow_private)
        except ValueError:
            raise fault(Reason.INVALID_RESPONSE, "The agent card names an address that is no URL.") from None
        except EgressRefusedError as error:
            raise fault(Reason.ADDRESS_REFUSED, f"The address of the agent card was not called: {error}") from None
        return absolute

    def _answered(self, method: str, params: Mapping[str, Any], *, fault: Fault, deadline: float) -> Mapping[str, Any]:
        """The result of a method; typed errors otherwise."""
        assert self._interface is not None
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        headers = {} if self._interface.is_first else {"A2A-Version": "1.0"}
        body = self._called(
            "POST", self._interface.url, content=json.dumps(call), headers=headers, fault=fault, deadline=deadline
        )
        answer = _object(body, what="answer", fault=fault)
        if isinstance(error := answer.get("error"), Mapping):
            said = f"JSON-RPC error {error.get('code')}: {self._shown(str(error.get('message')))}"
            if error.get("code") == _INTERNAL:
                raise TransientError(f"it answered with the {said}")
            raise fault(Reason.REFUSED_BY_ENDPOINT, f"The agent answered with the {said}.", body)
        if not isinstance(result := answer.get("result"), Mapping):
            raise fault(Reason.INVALID_RESPONSE, "The agent's answer has neither a result nor an error.", body)
        return result

    def _shown(self, text: str) -> str:
        """Words of the agent for a message. The secret goes first: half of one would be overlooked later."""
        header = self._settings.header
        return (text if header is None else header.taken_out_of(text))[:_SHOWN]


def endpoint_planner(
    settings: EndpointSettings, *, name: str = "endpoint", watch: Watcher | None = None
) -> EndpointPlanner:
    """The planner that speaks the protocol of an address."""
    client = A2APlanner if settings.protocol == "a2a" else EndpointPlanner
    return client(settings, name=name, watch=watch)


def _message(request: PlannerRequest, *, interface: _Interface) -> dict[str, Any]:
    data = request.model_dump(mode="json")
    words = f"{_IN_TURNS if isinstance(request, TurnRequest) else _INSTRUCTION}\n\n{request.task.request}"
    # The same in all tries, so that an agent can recognise a repeated message.
    message_id = digest(data)
    if interface.is_first:
        parts: list[dict[str, Any]] = [{"kind": "text", "text": words}, {"kind": "data", "data": data}]
        message = {"kind": "message", "role": "user", "messageId": message_id, "parts": parts}
        return {"message": message, "configuration": {"blocking": True}}
    parts = [{"text": words}, {"data": data, "mediaType": "application/json"}]
    return {"message": {"role": "ROLE_USER", "messageId": message_id, "parts": parts}}


def _interface_of(card: Mapping[str, Any]) -> _Interface | None:
    """The first interface with JSON-RPC, of version 1.0 if there is one."""
    listed = card.get("supportedInterfaces")
    rows = [row for row in listed if isinstance(row, Mapping)] if isinstance(listed, list) else []
    if not rows and isinstance(card.get("url"), str):
        binding = card.get("preferredTransport") or "JSONRPC"
        version = card.get("protocolVersion", "0.3")
        further = [row for row in _list(card.get("additionalInterfaces")) if isinstance(row, Mapping)]
        rows = [
            {"url": row.get("url"), "protocolBinding": row.get("transport"), "protocolVersion": version}
            for row in ({"url": card["url"], "transport": binding}, *further)
        ]
    found = [
        _Interface(url=row["url"], is_first=str(row.get("protocolVersion", "1.0")).startswith("0."))
        for row in rows[:_MOST_PARTS]
        if isinstance(row.get("url"), str)
        and row.get("protocolBinding") == "JSONRPC"
        and str(row.get("protocolVersion", "1.0")).startswith(("0.2", "0.3", "1"))
    ]
    return min(found, key=lambda interface: interface.is_first, default=None)


def _object(body: bytes, *, what: str, fault: Fault) -> Mapping[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, Mapping):
        raise fault(Reason.INVALID_RESPONSE, f"The agent's {what} is no JSON object.", body)
    return value


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    try:
        return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return parts.scheme, None, None


def _task_in(result: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The task of a result; None if it is a message."""
    wrapped = result.get("task")
    if isinstance(wrapped, Mapping):
        return wrapped
    return result if isinstance(result.get("status"), Mapping) else None


def _state(task: Mapping[str, Any]) -> str:
    """The state in the words of version 0.3, such as `input-required`; empty if there is none."""
    status = task.get("status")
    state = status.get("state") if isinstance(status, Mapping) else None
    return state.removeprefix("TASK_STATE_").lower().replace("_", "-") if isinstance(state, str) else ""


def _words(task: Mapping[str, Any]) -> str:
    """What the agent says about the state of its task."""
    return " ".join(part for part in _parts({"status": task["status"]}) if isinstance(part, str))


def _ended(state: str, *, said: str, fault: Fault) -> PlannerError:
    unknown = (Reason.INVALID_RESPONSE, f"The agent's task is in the unknown state {state[:40]!r}")
    reason, sentence = _ENDS.get(state.replace("cancelled", "canceled"), unknown)
    return fault(reason, f"{sentence}: {said}" if said else f"{sentence}.")


def _parts(value: Mapping[str, Any]) -> Iterator[str | Mapping[str, Any]]:
    """Texts and data of a message, or of a task's artefacts, or else of its last message."""
    message = value.get("message")
    holder = message if isinstance(message, Mapping) else value
    artefacts = holder.get("artifacts")
    holders = [each for each in artefacts if isinstance(each, Mapping)] if isinstance(artefacts, list) else []
    status = holder.get("status")
    if not holders and isinstance(status, Mapping) and isinstance(status.get("message"), Mapping):
        holders = [status["message"]]
    listed = [part for each in holders or [holder] for part in _list(each.get("parts"))[:_MOST_PARTS]]
    for part in listed[:_MOST_PARTS]:
        if isinstance(part, Mapping):
            if isinstance(part.get("data"), Mapping):
                yield part["data"]
            elif isinstance(part.get("text"), str):
                yield part["text"]


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _response(parts: Sequence[str | Mapping[str, Any]], *, in_turns: bool, fault: Fault) -> Mapping[str, Any]:
    """A response of planner/1: a data part that is one, or else what the texts say."""
    # Parts with usage or a reason alone may stand beside the answer.
    answers = frozenset(ANSWERS) if in_turns else {"plan"}
    for part in parts:
        if isinstance(part, Mapping) and answers & part.keys():
            return part
    data = next(
        (part for part in parts if isinstance(part, Mapping) and not part.keys() <= PlannerResponse.OPTIONS), None
    )
    if data is not None:
        return {"plan": data}
    text = "\n".join(part for part in parts if isinstance(part, str)).strip()
    if not text:
        raise fault(Reason.INVALID_RESPONSE, "The agent's answer has neither text nor data.")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, Mapping) and answers & value.keys():
        return value
    return {"text": text} if in_turns else {"plan": text}
