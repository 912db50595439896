"""The API's personal tokens, scopes and teams."""
