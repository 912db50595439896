"""Django settings. What differs between installations comes from the environment; docs/operating.md lists it."""

from leaderboard.site.environment import BASE_DIR as BASE_DIR
from leaderboard.site.settings.accounts import *  # noqa: F403
from leaderboard.site.settings.api import *  # noqa: F403
from leaderboard.site.settings.base import *  # noqa: F403
from leaderboard.site.settings.django import *  # noqa: F403
from leaderboard.site.settings.evaluations import *  # noqa: F403
from leaderboard.site.settings.queue import *  # noqa: F403
