"""OpenTelemetry traces of site, queue and workers, off unless a collector is configured."""
