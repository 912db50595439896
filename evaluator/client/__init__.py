"""A client of a PlanArena site: its API in Python types, and the commands of pipelines. Needs httpx and pydantic only.

from evaluator.client import Client, NewSubmission, PlannerEntry

with Client.from_environment() as client:
    planner = PlannerEntry.bundled("gold", name="mine")
    made = client.submit(NewSubmission(planner=planner, suites=[suite.slug for suite in client.suites()]))
"""

from evaluator.client.api import Client
from evaluator.client.errors import ClientError, RefusedError, UnreachableError
from evaluator.client.shapes import Causes, Evaluation, NewSubmission, PlannerEntry, Submission, SuiteInfo, TaskRow

__all__ = [
    "Causes",
    "Client",
    "ClientError",
    "Evaluation",
    "NewSubmission",
    "PlannerEntry",
    "RefusedError",
    "Submission",
    "SuiteInfo",
    "TaskRow",
    "UnreachableError",
]
