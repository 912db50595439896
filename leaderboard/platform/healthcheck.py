"""`python -m leaderboard.platform.healthcheck`: liveness of the site in this container, for Docker's HEALTHCHECK.

With `--url` and `--path`: whether another web process answers, for `helm test`.
"""

import argparse
import http.client
import os
import sys
from collections.abc import Sequence
from urllib.parse import urlsplit


def main(arguments: Sequence[str] = ()) -> int:
    """0 if the site answers every path with 200."""
    parser = argparse.ArgumentParser(prog="python -m leaderboard.platform.healthcheck", description=__doc__)
    default = f"http://127.0.0.1:{os.environ.get('PORT', '8000')}"
    parser.add_argument("--url", default=default, help="address of a web process (default: %(default)s)")
    parser.add_argument("--path", action="append", dest="paths", help="path to ask; may be repeated")
    options = parser.parse_args(arguments)
    return max(_asked(options.url, path) for path in options.paths or ["/health/live"])


def _asked(url: str, path: str) -> int:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=4)
    try:
        # As the proxy in front of the site sets it, or the answer would lead to HTTPS.
        connection.request("GET", path, headers={"X-Forwarded-Proto": "https"})
        status = connection.getresponse().status
        if status != http.client.OK:
            sys.stderr.write(f"{path}: {status}\n")
        return int(status != http.client.OK)
    except (OSError, http.client.HTTPException) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
