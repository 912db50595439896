"""Client addresses, by which requests are counted."""

from collections.abc import Mapping
from ipaddress import AddressValueError, IPv6Address, IPv6Network
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request

_IPV6_PREFIX = 64
"""In bits. A customer has at least such a network, and can use a new address of it for each request."""


def address_of(request: HttpRequest | Request) -> str:
    """The client's IPv4 address, or its IPv6 network. Of `X-Forwarded-For`, only entries of our own proxies count."""
    return _counted(remote=request.META.get("REMOTE_ADDR", ""), forwarded=request.META.get("HTTP_X_FORWARDED_FOR", ""))


def address_of_scope(scope: Mapping[str, Any]) -> str:
    """`address_of` for an ASGI scope."""
    forwarded = ",".join(value.decode("latin1") for name, value in scope["headers"] if name == b"x-forwarded-for")
    return _counted(remote=(scope.get("client") or ("", 0))[0], forwarded=forwarded)


def _counted(*, remote: str, forwarded: str) -> str:
    hops = [part.strip() for part in forwarded.split(",") if part.strip()]
    if settings.PROXIES and hops:
        remote = hops[-min(settings.PROXIES, len(hops))]
    try:
        address = IPv6Address(remote)
    except AddressValueError:
        return remote[:100]
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(IPv6Network((address, _IPV6_PREFIX), strict=False))
