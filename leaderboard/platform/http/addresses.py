"""Whose address a request counts for."""

from collections.abc import Mapping
from ipaddress import AddressValueError, IPv6Address, IPv6Network
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request

_IPV6_PREFIX = 64
"""Bits. One customer has at least such a network, and may take another address in it for each request."""


def address_of(request: HttpRequest | Request) -> str:
    """The caller's address, or its network in IPv6. Only what our own proxies wrote into `X-Forwarded-For` counts."""
    return _counted(remote=request.META.get("REMOTE_ADDR", ""), forwarded=request.META.get("HTTP_X_FORWARDED_FOR", ""))


def address_of_scope(scope: Mapping[str, Any]) -> str:
    """The same of an ASGI scope."""
    forwarded = ",".join(value.decode("latin1") for name, value in scope["headers"] if name == b"x-forwarded-for")
    return _counted(remote=(scope.get("client") or ("", 0))[0], forwarded=forwarded)


def _counted(*, remote: str, forwarded: str) -> str:
    found = remote
    passed_on = [part.strip() for part in forwarded.split(",") if part.strip()]
    if settings.PROXIES and passed_on:
        found = passed_on[-min(settings.PROXIES, len(passed_on))]
    try:
        address = IPv6Address(found)
    except AddressValueError:
        return found[:100]
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(IPv6Network((address, _IPV6_PREFIX), strict=False))
