"""What all routes of the API share: authentication, errors, pagination, throttling and the schema."""
