"""Addresses of sites: what is wrong with one, and which one was probably meant."""

import ssl
from collections.abc import Iterator
from urllib.parse import SplitResult, urlsplit

from evaluator.core.suggestions import likely_name

_SCHEMES = ("https", "http")
_API = "/api/v1"
_LOCAL = ("localhost", "127.", "[::1]", "0.0.0.0")  # noqa: S104 - compared, not bound
_UNKNOWN_HOST = ("name or service not known", "nodename nor servname", "name resolution", "getaddrinfo failed")
_PLAIN_SERVER = ("wrong_version_number", "wrong version number", "record layer failure", "http_request")


def address_problem(url: str) -> str:
    """Why a text cannot be a site's address, with the address that was probably meant; empty if it can be."""
    if url != url.strip() or any(character.isspace() for character in url):
        return f"the site's address {url!r} contains blanks"
    scheme, separator, _ = url.partition("://")
    if not separator or scheme not in _SCHEMES:
        problem = f"the site's address must begin with https:// or http://, not {url!r}"
        likely = _with_scheme(url)
        return f"{problem}; did you mean {likely!r}?" if likely else problem
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        return f"{url!r} is not an address: {error}"
    if not parts.hostname:
        return f"{url!r} has no host name"
    if parts.username is not None:
        return "the site's address must have no user name or password; set PLANARENA_TOKEN instead"
    if port == 0:
        return f"{url!r} has the port 0, which no site has"
    path = parts.path.rstrip("/")
    if parts.query or parts.fragment or path.endswith(_API):
        return f"the site's address is the one of its home page: did you mean {_root(parts)!r}?"
    return ""


def _root(parts: SplitResult) -> str:
    """The address without the API's path, a query or a fragment; a prefix of the path stays."""
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix(_API)}"


def _with_scheme(url: str) -> str:
    """The same address with a scheme, if it is similar to an address; else empty."""
    scheme, separator, rest = url.partition(":")
    if not separator and "//" in url:
        scheme, separator, rest = url.partition("//")
    if separator and not rest.startswith("/") and rest.partition("/")[0].isdecimal():
        # A host with a port.
        scheme, rest = "", url
    elif separator and likely_name(scheme, _SCHEMES):
        rest = rest.lstrip("/")
        scheme = likely_name(scheme, _SCHEMES)
    else:
        scheme, rest = "", url.lstrip("/")
    host = rest.partition("/")[0]
    is_local = host.startswith(_LOCAL)
    if not host or not (is_local or "." in host or ":" in host):
        return ""
    return f"{scheme or ('http' if is_local else 'https')}://{rest}"


def likely_address(text: str) -> str:
    """The address that a text without `http://` or `https://` probably is, such as `localhost:9000/plan`; else empty.

    A model's name may contain colons and dots: a host needs a numeric port or a mistyped scheme.
    """
    scheme, separator, rest = text.partition(":")
    if not separator:
        return ""
    is_host = rest.partition("/")[0].isdecimal() and "/" not in scheme
    is_mistyped = rest.startswith("/") and bool(likely_name(scheme, _SCHEMES))
    return _with_scheme(text) if is_host or is_mistyped else ""


def unreachable_hint(error: BaseException, *, url: str) -> str:
    """What may be wrong with an address at which no site answers, as a sentence; empty if unknown.

    Args:
        error: of a call that did not reach the site.
        url: the site's address.
    """
    parts = urlsplit(url)
    texts = [str(each).lower() for each in _chain(error)]
    if speaks_no_tls(error):
        return f"The site answers without TLS: did you mean {parts._replace(scheme='http').geturl()!r}?"
    if any(text in each for each in texts for text in _UNKNOWN_HOST):
        return f"No host is called {parts.hostname!r}: check its spelling"
    if any(isinstance(each, ConnectionRefusedError) or "refused" in str(each).lower() for each in _chain(error)):
        port = parts.port or (443 if parts.scheme == "https" else 80)
        where = f"port {port} of {parts.hostname}{'' if parts.port else ' (the default port)'}"
        return f"Nothing answers on {where}: is the port right, and is the site running?"
    return ""


def speaks_no_tls(error: BaseException) -> bool:
    """Whether an `https://` address belongs to a server that speaks plain HTTP."""
    for each in _chain(error):
        if isinstance(each, ssl.SSLCertVerificationError):
            return False
        text = str(each).lower()
        if any(word in text for word in _PLAIN_SERVER):
            return True
    return False


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and its causes."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__
