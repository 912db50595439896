"""Standard output and standard error of a process. Imports nothing that takes long."""

import codecs
import json
import sys


def settle_streams() -> None:
    """Let no character end a command: those that the encoding of a terminal or pipe lacks are printed as escapes.

    Python's standard output otherwise raises UnicodeEncodeError, as with LC_ALL=C or PYTHONIOENCODING=ascii.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure") and not _is_unicode(stream.encoding):
            stream.reconfigure(errors="backslashreplace")


def as_printable_json(text: str) -> str:
    """JSON for standard output: with JSON's own escapes if its encoding lacks characters of the text."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(json.loads(text), indent=1) + ("\n" if text.endswith("\n") else "")
    return text


def _is_unicode(encoding: str | None) -> bool:
    return encoding is None or codecs.lookup(encoding).name.startswith("utf")
