"""Controlllm."""
