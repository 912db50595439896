"""What an operator sets for traces, and the vocabulary of spans."""

import os
from typing import Literal
from urllib.parse import unquote

VARIABLE = "OTEL_EXPORTER_OTLP_ENDPOINT"
"""The collector's address, as in `http://collector:4318`; unset or empty: no traces."""
HEADERS_VARIABLES = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS")
"""What the collector asks for, such as a key: secrets."""
HEADER = "traceparent"
"""W3C Trace Context: which span of the caller a call belongs to."""

Kind = Literal["internal", "server", "producer", "consumer"]
Value = str | int | float
_service = "planarena-site"


def header_secrets() -> list[str]:
    """The last word of each header for the collector: a key, without the scheme before it."""
    headers = [one for name in HEADERS_VARIABLES for one in os.environ.get(name, "").split(",")]
    return [words[-1] for one in headers if (words := unquote(one.partition("=")[2]).split())]


def name_service(name: str) -> None:
    """Which service the spans of this process are of, unless OTEL_SERVICE_NAME says it."""
    global _service
    _service = name


def service() -> str:
    """What `name_service` was given last."""
    return _service
