"""Safe execution of short, untrusted Python programs.

Two layers, each sufficient to contain a program:

- the language: `checking` enforces an allow list (`language`), `instrumenting` inserts step counting (`meter`) and
  calls of bounded `operators`, `functions` and `methods`; `executing` combines these, and bounds results
- the process: `confining` applies kernel limits to `child`, which forks a process for each program

`runner` manages a pool of processes and `worker` one of them, `results` validates their answers, and `support` reports
the layers of this machine. `serving` runs programs for other pods, and `remote` is its client. The modules that the
process imports use the standard library only.
"""
