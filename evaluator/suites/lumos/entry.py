"""LUMOS' suites in the registry."""

from evaluator.suites.registry import Entry

SUITES: tuple[Entry, ...] = ()
COMMANDS = "evaluator.suites.lumos.commands"
