"""What all clients of the product share about HTTP servers that answer badly."""

from evaluator.network.transient import asked_to_wait, error_in, is_html, is_transient

__all__ = ["asked_to_wait", "error_in", "is_html", "is_transient"]
