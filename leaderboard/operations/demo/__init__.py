"""The demo: the whole arena on one machine, started and stopped by one command."""
