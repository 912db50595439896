"""Test calls."""
