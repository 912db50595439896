"""Pages, read as a test client gets them."""

import re

from django.test import Client

from leaderboard.evaluations.models import Evaluation


def read(client: Client, address: str, **query: str) -> str:
    """The text of a page."""
    response = client.get(address, query)
    assert response.status_code == 200, (address, response.status_code)
    return response.content.decode()


def evaluation_page(client: Client, evaluation: Evaluation, rest: str = "", **query: str) -> str:
    """The text of an evaluation's page, or of one below it."""
    return read(client, f"/evaluations/{evaluation.pk}/{rest}", **query)


def task_page(client: Client, evaluation: Evaluation, key: str, **query: str) -> str:
    """The text of the page of one task."""
    return evaluation_page(client, evaluation, f"tasks/{key}/", **query)


def planners(html: str) -> list[str]:
    """Names of the planners on a board, in its order."""
    return re.findall(r'class="planner-name"[^>]*>([^<]+)<', html)


def tasks(html: str) -> list[str]:
    """Keys of the tasks on an evaluation's page, in its order."""
    return re.findall(r"/tasks/([\w/]+)/(?:\?[^\"]*)?\" tabindex", html)
