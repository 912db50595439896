"""A site with settings as in production, in a folder of its own, to be measured."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leaderboard.platform import embedded


@contextmanager
def installation(folder: Path, **settings: str) -> Iterator[None]:
    """Its environment, but for what this machine lacks: HTTPS and a mail server; with Django set up and its database
    running.

    Args:
        folder: of its data.
        settings: further variables.
    """
    for name in [name for name in os.environ if name.startswith("PLANARENA_")]:
        del os.environ[name]
    own = {
        "DJANGO_SETTINGS_MODULE": "leaderboard.platform.settings", "DATABASE_URL": embedded.start(folder),
        "PLANARENA_DATA": str(folder), "PLANARENA_SECRET_KEY": secrets.token_urlsafe(40),
        "PLANARENA_WORKER_TOKEN": secrets.token_urlsafe(40), "PLANARENA_ALLOWED_HOSTS": "127.0.0.1",
        "PLANARENA_HTTPS": "0", "PLANARENA_EMAIL_VERIFICATION": "none",
    }  # fmt: skip
    os.environ.update(own | settings)
    try:
        import django

        django.setup()
        from django.db import connections

        try:
            yield
        finally:
            connections.close_all()
            for connection in connections.all():
                connection.close_pool()
    finally:
        embedded.stop(folder)
