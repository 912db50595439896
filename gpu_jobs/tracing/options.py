"""Settings of tracing, and types of spans."""

import os
from typing import Literal
from urllib.parse import unquote

VARIABLE = "OTEL_EXPORTER_OTLP_ENDPOINT"
"""The collector's address, as in `http://collector:4318`; unset or empty: no traces."""
HEADERS_VARIABLES = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS")
"""Headers for the collector, such as a key: secrets."""
HEADER = "traceparent"
"""W3C Trace Context: the caller's span."""

Kind = Literal["internal", "server", "producer", "consumer"]
Value = str | int | float
_service = "planarena-site"


def header_secrets() -> list[str]:
    """The last word of each header for the collector: the key, without its scheme."""
    headers = [header for name in HEADERS_VARIABLES for header in os.environ.get(name, "").split(",")]
    return [words[-1] for header in headers if (words := unquote(header.partition("=")[2]).split())]


def name_service(name: str) -> None:
    """Set the service name of this process's spans, unless OTEL_SERVICE_NAME is set."""
    global _service
    _service = name


def service() -> str:
    """The service name."""
    return _service
