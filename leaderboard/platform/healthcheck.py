"""`python -m leaderboard.platform.healthcheck`: liveness of the site in this container, for Docker's HEALTHCHECK."""

import http.client
import os
import sys


def main() -> int:
    """0 if the site is alive."""
    connection = http.client.HTTPConnection("127.0.0.1", int(os.environ.get("PORT", "8000")), timeout=4)
    try:
        connection.request("GET", "/health/live")
        return int(connection.getresponse().status != http.client.OK)
    except (OSError, http.client.HTTPException) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main())
