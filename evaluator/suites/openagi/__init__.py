"""OpenAGI's requests, generated from their grammar, with gold plans."""

from evaluator.suites.openagi.grammar import Base, Degradation
from evaluator.suites.openagi.suite import OpenAGITask, openagi_suite

__all__ = ["Base", "Degradation", "OpenAGITask", "openagi_suite"]
