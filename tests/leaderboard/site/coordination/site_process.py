"""The site in its own process, on the test's database: `python -m tests.leaderboard.site.coordination.site_process`.

Settings come as JSON in the first argument; the port is printed.
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import psutil


@contextmanager
def sites(count: int, **changed: Any) -> Iterator[list[tuple[str, "subprocess.Popen[str]"]]]:
    """So many processes of the site with the running test's database, and settings as given."""
    from django.conf import settings
    from django.db import connection

    database = {key: connection.settings_dict[key] for key in ("NAME", "USER", "PASSWORD", "HOST", "PORT")}
    given = json.dumps({"database": database, "settings": {"STORE_DIR": str(settings.STORE_DIR), **changed}})
    with ExitStack() as stack:
        started = [
            subprocess.Popen(
                [sys.executable, "-m", __name__, given], stdout=subprocess.PIPE, text=True, cwd=settings.BASE_DIR
            )
            for _ in range(count)
        ]
        for process in started:
            stack.callback(_end, process)
        yield [(f"http://127.0.0.1:{int(process.stdout.readline())}", process) for process in started]


def _end(process: "subprocess.Popen[str]") -> None:
    if process.poll() is None and psutil.pid_exists(process.pid):
        process.kill()
    process.wait(timeout=10)


def main(given: str) -> None:
    """Serve until killed."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    import django
    from django.conf import settings

    options = json.loads(given)
    settings.DATABASES["default"].update(options["database"])
    for name, value in options["settings"].items():
        setattr(settings, name, value)
    django.setup()
    import uvicorn

    from leaderboard.wiring.asgi import application

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        sys.stdout.write(f"{listening.getsockname()[1]}\n")
        sys.stdout.flush()
        config = uvicorn.Config(application, log_level="error", lifespan="off")
        uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main(sys.argv[1])
