"""The top of the house: addresses, the ASGI application, and what the rooms call back. Nothing imports it."""
