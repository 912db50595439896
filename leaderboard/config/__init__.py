"""Settings, URLs, the ASGI application, Celery and the embedded PostgreSQL."""
