"""Takes secrets out of texts that other people will read. Pure; used by the worker and, once more, by the site.

It knows exact values (tokens, addresses) and shapes (headers, credentials in addresses, keys of well-known services). A
shape may take too much of a line; that is the side to err on.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import urlsplit

from evaluator.core.canonical_json import JsonValue
from evaluator.core.records import ResultRecord
from evaluator.core.values import Artefact
from gpu_jobs.artefact_redaction import redacted
from gpu_jobs.worker_secrets import names_a_secret

HIDDEN = "***"
_SHORTEST_SECRET = 6
_SHORTEST_IN_RECORDS = 12
"""Shorter ones, such as a database's weak password, are also words of plans; hiding them there would tell them."""
# No pattern begins with a repetition: a long line would take the square of its length.
_SHAPES: tuple[tuple[re.Pattern[str], str], ...] = (
    # To the end of the line: what follows may be the other half of the header.
    (re.compile(r"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie|x-api-key)\b(['\"]?\s*[:=]\s*).+"), rf"\1\2{HIDDEN}"),
    (re.compile(r"(?i)\b(bearer)\s+[\w.~+/=-]{6,}"), rf"\1 {HIDDEN}"),
    (re.compile(r"(?i)\b(basic)\s+[a-z0-9+/]{16,}={0,2}"), rf"\1 {HIDDEN}"),
    (re.compile(r"(?i)\b([a-z][a-z0-9+.-]{0,20}://)[^/\s@'\"]+@"), rf"\1{HIDDEN}@"),
    (
        re.compile(
            r"(?i)((?:token|secret|password|passwd|api[_-]?key|access[_-]?key|signature))"
            r"(['\"]?\s*[=:]\s*['\"]?)[^\s'\"&,;]+"
        ),
        rf"\1\2{HIDDEN}",
    ),
    (re.compile(r"\b(?:pa[sw]?|hf|gh[opsu]|github_pat|sk|xox[abp])[_-][A-Za-z0-9_-]{10,}"), HIDDEN),
    (re.compile(r"\bAKIA[0-9A-Z]{16}\b"), HIDDEN),
    (re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]+"), HIDDEN),
)


class Redactor:
    """Replaces what must not be read by others."""

    def __init__(self, *, secrets: Iterable[str] = (), addresses: Iterable[str] = ()) -> None:
        """Args:
        secrets: exact values; those too short to be one are left alone.
        addresses: of planners' endpoints, which are their owners'.
        """
        known = {secret.strip() for secret in secrets}
        # The longest first: one may contain another.
        self._secrets = sorted((one for one in known if len(one) >= _SHORTEST_SECRET), key=len, reverse=True)
        self._long = [secret for secret in self._secrets if len(secret) >= _SHORTEST_IN_RECORDS]
        self._addresses = [address for address in addresses if address]
        hosts = {urlsplit(address).hostname or "" for address in self._addresses} - {""}
        self._hosts = [re.compile(rf"(?i)(?<![\w.-]){re.escape(host)}(?::\d+)?(?![\w-])") for host in sorted(hosts)]

    def __call__(self, text: str) -> str:
        """The text without secrets."""
        text = self.without_addresses(_without(text, secrets=self._secrets))
        for shape, instead in _SHAPES:
            text = shape.sub(instead, text)
        return text

    def in_json(self, content: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """The object with every text, keys included, without the exact secrets.

        Shapes and addresses are left: a plan may well say `token: "blue"`.
        """
        return _in_object(content, secrets=self._long)

    def in_artefact(self, artefact: Artefact) -> Artefact:
        """The artefact without the exact secrets; the very same one if there is none in it."""
        return redacted(artefact, secrets=self._long)

    def in_record(self, record: ResultRecord) -> ResultRecord:
        """The record without the exact secrets."""
        content = record.model_dump(mode="json")
        hidden = self.in_json(content)
        return record if hidden == content else ResultRecord.model_validate(hidden)

    def without_addresses(self, text: str) -> str:
        """The text without the addresses only, for sentences in which a word such as `token:` is no secret."""
        for address in self._addresses:
            text = text.replace(address, "the endpoint")
        for host in self._hosts:
            text = host.sub("the endpoint's host", text)
        return text


def _replaced(value: JsonValue, *, secrets: Sequence[str]) -> JsonValue:
    if isinstance(value, str):
        return _without(value, secrets=secrets)
    if isinstance(value, list):
        return [_replaced(item, secrets=secrets) for item in value]
    if isinstance(value, dict):
        return _in_object(value, secrets=secrets)
    return value


def _in_object(content: Mapping[str, JsonValue], *, secrets: Sequence[str]) -> dict[str, JsonValue]:
    return {_without(key, secrets=secrets): _replaced(item, secrets=secrets) for key, item in content.items()}


def _without(text: str, *, secrets: Sequence[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text


def secrets_of(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The values of variables whose names say that they are secrets."""
    return [value for name, value in environment.items() if names_a_secret(name)]
