"""Bodies of requests, spooled to the volume of uploads.

Django's handler writes a body to the system's folder for temporary files before its form is parsed: a few large forms
would fill what everything else of the process needs.
"""

import tempfile
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler


class SpoolingHandler(ASGIHandler):
    """Django's handler, with bodies in `FILE_UPLOAD_TEMP_DIR`. Their files have no name, so none is left behind."""

    async def read_body(self, receive: Any) -> Any:
        """See `ASGIHandler.read_body`.

        Raises:
            RequestAborted: the sender went away.
        """
        body = tempfile.SpooledTemporaryFile(  # noqa: SIM115 - the handler closes it
            max_size=settings.FILE_UPLOAD_MAX_MEMORY_SIZE, dir=settings.FILE_UPLOAD_TEMP_DIR
        )
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                body.close()
                raise RequestAborted
            body.write(message.get("body", b""))
            more = message.get("more_body", False)
        body.seek(0)
        return body
