"""`planarena daemon`: a process that has everything imported, and forks for each `planarena evaluate`.

- `conditions`: whether a command may use it, and what its process must have in common with that of the command
- `channel`: its private folder, the peer's user, and messages with descriptors
- `calling`: the side of the command; `serving`: the side of the daemon; `child`: a command in a forked process
- `command`: `planarena daemon status|stop`

The command's process keeps the terminal, forwards signals, and exits as its fork does. Nothing of a command stays in
the daemon: only the fork reads arguments and environment. Where anything is unusual, the command runs as without it.
"""
