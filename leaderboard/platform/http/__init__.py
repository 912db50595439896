"""Middleware and request handling: body limits, client addresses, refused methods."""
