"""Openagi."""
