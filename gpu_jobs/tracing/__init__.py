"""Traces of site, queue and workers in OpenTelemetry's format, off unless an operator names a collector."""
