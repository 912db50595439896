"""The ASGI application: `uvicorn leaderboard.config.asgi:application`."""

import os

from django.core.asgi import get_asgi_application

# Requests run beside each other: small matrix products that each wait for threads of their own take several times as
# long on a busy machine. NumPy reads this when it is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaderboard.config.settings")

application = get_asgi_application()
