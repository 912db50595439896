"""The program `planarena`: its table of commands, which imports a command when it runs.

- `commands.toml`: the commands; `table`: reads it, and the helps of the commands, without importing them
- `lazy`: groups of commands for Typer; `options`: options that many commands share
"""

__all__: list[str] = []
