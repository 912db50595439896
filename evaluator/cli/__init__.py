"""The command line: one module for each group of commands.

- `main`: entry point of `python -m evaluator`; `walking`: all commands, imported
- `progress_view`: progress of an evaluation; `quiet`: log levels of libraries
- the others: commands. `evaluator.core.commands` has what they share, and the papers have commands of their own.

Nothing is imported here: a command loads what it needs when it runs.
"""

__all__: list[str] = []
