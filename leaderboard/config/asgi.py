"""The ASGI application: `uvicorn leaderboard.config.asgi:application`."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaderboard.config.settings")

application = get_asgi_application()
