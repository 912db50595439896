"""OpenAGI's requests, generated from their grammar, with gold plans."""
