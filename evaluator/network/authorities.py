"""TLS contexts that all clients of a process share: reading the authorities takes tens of milliseconds each time."""

import os
import ssl
from functools import lru_cache

import httpx


def system_authorities() -> ssl.SSLContext:
    """Trusts the machine's authorities, or those of `SSL_CERT_FILE` and `SSL_CERT_DIR`."""
    return _system(_files())


def bundled_authorities() -> ssl.SSLContext:
    """Trusts those of httpx, or those of `SSL_CERT_FILE` and `SSL_CERT_DIR`."""
    return _bundled(_files())


def _files() -> tuple[tuple[str, int], ...]:
    """Where authorities are read from, and when that was last changed: a renewed file is read again."""
    paths = ssl.get_default_verify_paths()
    found = [os.environ.get(paths.openssl_cafile_env), os.environ.get(paths.openssl_capath_env)]
    found += [paths.openssl_cafile, paths.openssl_capath]
    return tuple((path, _changed(path)) for path in found if path)


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 - faster than a Path
    except OSError:
        return 0


@lru_cache(maxsize=4)
def _system(_: tuple[tuple[str, int], ...]) -> ssl.SSLContext:
    return ssl.create_default_context()


@lru_cache(maxsize=4)
def _bundled(_: tuple[tuple[str, int], ...]) -> ssl.SSLContext:
    return httpx.create_ssl_context()
