"""Causes."""
