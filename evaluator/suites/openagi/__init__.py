"""OpenAGI's requests, generated from their grammar, with gold plans."""

from evaluator.suites.openagi.grammar import Base, Degradation
from evaluator.suites.openagi.suite import openagi_suite
from evaluator.suites.openagi.tasks import OpenAGITask

__all__ = ["Base", "Degradation", "OpenAGITask", "openagi_suite"]
