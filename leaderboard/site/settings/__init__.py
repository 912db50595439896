"""Django settings. What differs between installations comes from the environment; docs/operating.md lists it."""

from leaderboard.site.environment import BASE_DIR as BASE_DIR
from leaderboard.site.http.collecting import look_later

# The first that every process of the site loads; `Wiring.ready` comes last.
look_later()

from leaderboard.site.settings.accounts import *  # noqa: E402, F403
from leaderboard.site.settings.api import *  # noqa: E402, F403
from leaderboard.site.settings.base import *  # noqa: E402, F403
from leaderboard.site.settings.django import *  # noqa: E402, F403
from leaderboard.site.settings.evaluations import *  # noqa: E402, F403
from leaderboard.site.settings.queue import *  # noqa: E402, F403
