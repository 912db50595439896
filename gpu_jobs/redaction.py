"""Takes secrets out of texts that other people will read. Pure; used by the worker and, once more, by the site.

It knows exact values (tokens, addresses) and shapes (headers, credentials in addresses, keys of well-known services). A
shape may take too much of a line; that is the side to err on.
"""

import os
import re
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

HIDDEN = "***"
_SHORTEST_SECRET = 6
_SECRET_NAME = re.compile(r"(?i)(token|secret|password|passwd|api_?key|access_?key|seed|credentials)")
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
    (re.compile(r"\b(?:paw?|hf|gh[opsu]|github_pat|sk|xox[abp])[_-][A-Za-z0-9_-]{10,}"), HIDDEN),
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
        self._addresses = [address for address in addresses if address]
        hosts = {urlsplit(address).hostname or "" for address in self._addresses} - {""}
        self._hosts = [re.compile(rf"(?i)(?<![\w.-]){re.escape(host)}(?::\d+)?(?![\w-])") for host in sorted(hosts)]

    def __call__(self, text: str) -> str:
        """The text without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        text = self.without_addresses(text)
        for shape, instead in _SHAPES:
            text = shape.sub(instead, text)
        return text

    def without_addresses(self, text: str) -> str:
        """The text without the addresses only, for sentences in which a word such as `token:` is no secret."""
        for address in self._addresses:
            text = text.replace(address, "the endpoint")
        for host in self._hosts:
            text = host.sub("the endpoint's host", text)
        return text


def secrets_of(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The values of variables whose names say that they are secrets."""
    return [value for name, value in environment.items() if _SECRET_NAME.search(name)]
