"""Runs short, hostile Python programs safely.

Two layers, each able to contain a program by itself:

- the language: `checking` holds programs to an allow-list (`language`), `instrumenting` makes them count their steps
  (`meter`) and call bounded `operators`, `functions` and `methods`; `executing` puts these together, `encoding` bounds
  results
- the process: `confining` puts kernel limits on `child`, which forks a process for each program

`runner` has the pool of processes, `worker` one of them, `results` checks what they answer, `support` says what this
machine has; `serving` runs them in another pod, `remote` asks it, in `frames`. What the process imports (the modules of
the two layers) uses the standard library only.
"""
