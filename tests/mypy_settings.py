"""Settings that mypy's plug-in for Django reads models from: those of the site, for which no variable need be set."""

import os

from leaderboard.site.managing import complete_settings

complete_settings(os.environ)

from leaderboard.site.settings import *  # noqa: E402, F403
