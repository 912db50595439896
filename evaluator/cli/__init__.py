"""The command line: one module for each group of commands.

- `main`: entry point of `python -m evaluator`; `program`: the table of commands, read without importing them
- `evaluate`, `suites`, `planners`, `tools`, `profiles`, `bench`, `scoring`, `judging`, `validity`, `sbom`, `lilliput`,
  `train`: the commands
- `usage`: errors and options that commands share; `execution_settings`: options of commands that execute plans
- `listing`: tables; `progress_view`: progress of an evaluation; `quiet`: log levels of libraries

Nothing is imported here: a command loads what it needs when it runs.
"""

__all__: list[str] = []
