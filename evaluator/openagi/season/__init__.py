"""OpenAGI's tools and data under generated requests: a season of requests from a seed."""
