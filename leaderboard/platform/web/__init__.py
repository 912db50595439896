"""The admin site."""
