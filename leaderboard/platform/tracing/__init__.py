"""Spans of requests and tasks, and the trace of each evaluation (`gpu_jobs.tracing`)."""
