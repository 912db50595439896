"""Language models behind an OpenAI-compatible chat endpoint."""
