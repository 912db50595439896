"""The ground floor: settings, environment, encryption, clock, ASGI application, Celery, embedded PostgreSQL."""
