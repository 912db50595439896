"""Django settings. What differs between installations comes from the environment; docs/install.md lists it."""

from leaderboard.platform.environment import BASE_DIR as BASE_DIR
from leaderboard.platform.http.collecting import look_later

# The first that every process of the site loads; `Wiring.ready` comes last.
look_later()

from leaderboard.platform.settings.accounts import *  # noqa: E402, F403
from leaderboard.platform.settings.api import *  # noqa: E402, F403
from leaderboard.platform.settings.base import *  # noqa: E402, F403
from leaderboard.platform.settings.django import *  # noqa: E402, F403
from leaderboard.platform.settings.evaluations import *  # noqa: E402, F403
from leaderboard.platform.settings.queue import *  # noqa: E402, F403
