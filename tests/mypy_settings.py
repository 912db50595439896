"""Settings that mypy's plug-in for Django reads models from: those of the site, for which no variable need be set."""

import os

from leaderboard.platform.managing import complete_settings

complete_settings(os.environ)

from leaderboard.platform.settings import *  # noqa: E402, F403
