"""The top layer: URLs, the ASGI application and callbacks between rooms. Nothing imports it."""
