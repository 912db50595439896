"""Common parts of the API: errors, pagination, throttling and the schema."""
