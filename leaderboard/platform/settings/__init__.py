"""Django settings. Installation-specific ones come from the environment; docs/install.md lists them."""

from leaderboard.platform.environment import BASE_DIR as BASE_DIR
from leaderboard.platform.http.collecting import look_later

# Settings are loaded first in every process of the site; `Wiring.ready` runs last.
look_later()

from leaderboard.platform.settings.accounts import *  # noqa: E402, F403
from leaderboard.platform.settings.api import *  # noqa: E402, F403
from leaderboard.platform.settings.base import *  # noqa: E402, F403
from leaderboard.platform.settings.django import *  # noqa: E402, F403
from leaderboard.platform.settings.evaluations import *  # noqa: E402, F403
from leaderboard.platform.settings.queue import *  # noqa: E402, F403
