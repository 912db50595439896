"""Settings from environment variables, with errors that name the variable and valid values."""

import contextlib
import os
import re
import secrets
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from evaluator.core.private_files import private_folder

_CHECKOUT = Path(__file__).resolve().parent.parent.parent
_SHIPPED = Path(__file__).resolve().parent.parent / "shipped"
"""Folder of the wheel with files that are outside the packages in a checkout."""
INSTALLED = _SHIPPED.is_dir()
"""Whether this is an installation from a wheel."""
BASE_DIR = Path.cwd() if INSTALLED else _CHECKOUT
"""The folder of `.data`, where processes are started: the checkout, or the working directory of an installed
package."""
RESOURCES = _SHIPPED if INSTALLED else _CHECKOUT
"""The folder of `docs`, `examples` and `frontend`."""

_TRUE = {"1", "true", "yes", "on"}
_DOI = re.compile(r"10\.[0-9]{4,9}/[-._;()/:A-Za-z0-9]+")
"""The form that Crossref recommends, which needs no escapes in URLs and BibTeX."""
_FALSE = {"", "0", "false", "no", "off"}
_CONNECTION_OPTIONS = {"sslmode", "sslrootcert", "sslcert", "sslkey", "connect_timeout", "application_name"}


class Environment:
    """Typed reading of environment variables."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables

    def text(self, name: str, default: str = "") -> str:
        """The variable's value, stripped; `default` if it is unset or empty."""
        return self._variables.get(name, "").strip() or default

    def required(self, name: str, *, purpose: str) -> str:
        """The variable's value, which must be set.

        Raises:
            ImproperlyConfigured: it is unset or empty.
        """
        value = self.text(name)
        if not value:
            raise ImproperlyConfigured(
                f"{name} is not set: it is {purpose}. Set it, or set PLANARENA_DEMO=1 for a demo on this machine."
            )
        return value

    def flag(self, name: str, *, default: bool = False) -> bool:
        """The variable as a boolean.

        Raises:
            ImproperlyConfigured: it is not one.
        """
        value = self._variables.get(name)
        if value is None:
            return default
        lowered = value.strip().lower()
        if lowered in _TRUE:
            return True
        if lowered in _FALSE:
            return False
        raise ImproperlyConfigured(f"{name} is {value!r}: it must be 1 or 0.")

    def integer(self, name: str, *, default: int, least: int = 0) -> int:
        """The variable as a whole number of at least `least`.

        Raises:
            ImproperlyConfigured: it is not one.
        """
        value = self.text(name)
        if not value:
            return default
        if not value.isdecimal() or int(value) < least:
            raise ImproperlyConfigured(f"{name} is {value!r}: it must be a whole number of at least {least}.")
        return int(value)

    def choice(self, name: str, *, default: str, choices: tuple[str, ...]) -> str:
        """The variable as one of several choices.

        Raises:
            ImproperlyConfigured: it is none of them.
        """
        value = self.text(name, default).lower()
        if value not in choices:
            raise ImproperlyConfigured(f"{name} is {value!r}: it must be {' or '.join(choices)}.")
        return value

    def size(self, name: str) -> int:
        """The variable in bytes, such as `6GB`; 0 if it is unset or empty.

        Raises:
            ImproperlyConfigured: it is not a size.
        """
        from evaluator.execution.engine.opening import parse_size

        value = self.text(name)
        try:
            return parse_size(value) if value else 0
        except ValueError as error:
            raise ImproperlyConfigured(f"{name} is wrong: {error}.") from error

    def names(self, name: str) -> list[str]:
        """The variable as a comma-separated list."""
        return [part.strip() for part in self.text(name).split(",") if part.strip()]

    def dois(self, name: str) -> dict[str, str]:
        """The variable as DOIs by suite, such as `10.5281/zenodo.1, a-suite=10.5281/zenodo.2`; the key of one without
        a suite is empty.

        Raises:
            ImproperlyConfigured: a part is no DOI, or a suite has two.
        """
        dois: dict[str, str] = {}
        for part in self.names(name):
            suite, separator, doi = part.rpartition("=") if not part.startswith("10.") else ("", "", part)
            if not _DOI.fullmatch(doi) or (separator and not suite):
                raise ImproperlyConfigured(
                    f"{name} has {part!r}: it must be a DOI such as 10.5281/zenodo.1234567, or suite=DOI."
                )
            if suite in dois:
                raise ImproperlyConfigured(f"{name} has two DOIs for {suite or 'the site'}.")
            dois[suite] = doi
        return dois

    def data_dir(self) -> Path:
        """The data folder of this installation: PLANARENA_DATA, by default `.data` in `BASE_DIR`."""
        return Path(self.text("PLANARENA_DATA", str(BASE_DIR / ".data"))).resolve()


def upload_folder(folder: Path) -> str | None:
    """The folder of uploads, created if missing; None for the system's temporary folder, if this process cannot write
    there, since not all processes receive uploads."""
    try:
        private_folder(folder)
    except OSError:
        return None
    return str(folder)


def parse_database_url(url: str, *, variable: str = "DATABASE_URL") -> dict[str, Any]:
    """Django's database settings for a `postgresql://` URL; `?host=/folder` names a unix socket.

    Args:
        url: the value of the variable.
        variable: its name, for errors.

    Raises:
        ImproperlyConfigured: the URL has another scheme, no database name or an unknown option.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise ImproperlyConfigured(
            f"{variable} starts with {parts.scheme or url[:12]!r}: PlanArena runs on PostgreSQL only, so it must be "
            "postgresql://user:password@host:port/name."
        )
    name = unquote(parts.path.lstrip("/"))
    if not name:
        raise ImproperlyConfigured(f"{variable} names no database: it must end with /name.")
    query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    host = query.pop("host", "") or unquote(parts.hostname or "")
    if unknown := set(query) - _CONNECTION_OPTIONS:
        raise ImproperlyConfigured(
            f"{variable} has the option {sorted(unknown)[0]!r}; "
            f"known are host, {', '.join(sorted(_CONNECTION_OPTIONS))}."
        )
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": str(parts.port or ""),
        "OPTIONS": dict(query),
    }


def kept_secret(path: Path) -> str:
    """A random secret, generated on first use and stored in a file that only its owner can read."""
    private_folder(path.parent)
    if not path.exists():
        # Written to a draft and linked, so that concurrent processes read the same, complete secret.
        descriptor, draft = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(48))
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
        Path(draft).unlink()
    return path.read_text()


def is_contact(text: str) -> bool:
    """Whether a text is empty, an email address, or a URL."""
    return re.fullmatch(r"|https://[^\s<>\"]+|[^\s@<>\":/]+@[^\s@<>\":/]+\.[^\s@<>\":/]+", text) is not None


def store_url(where: str) -> str:
    """`PLANARENA_STORE` if it names a bucket; empty if it names a folder or nothing.

    Raises:
        ImproperlyConfigured: it is another URL.
    """
    if "://" not in where:
        return ""
    if not re.fullmatch(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9][A-Za-z0-9._-]*)*/?", where):
        raise ImproperlyConfigured("PLANARENA_STORE must be a folder, or s3://bucket/prefix.")
    return where.rstrip("/")


def origin_of(address: str) -> str:
    """The origin of a site's URL (scheme, host and port); empty for an empty URL.

    Raises:
        ImproperlyConfigured: it is not the URL of a site.
    """
    if not address:
        return ""
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not re.fullmatch(r"[A-Za-z0-9.:\[\]-]+", parts.netloc):
        raise ImproperlyConfigured(f"{address!r} must begin with https:// or http:// and a host name.")
    return f"{parts.scheme}://{parts.netloc.lower()}"
