"""Language models behind a vLLM server."""
