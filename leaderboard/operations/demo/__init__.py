"""The demo: a complete site on one machine, started and stopped by one command."""
