"""A language model in a sandboxed process of its own. Strangers' models are never loaded in the worker.

Nothing is imported here: the worker needs no torch for it.

- `protocol`: the messages; `channel`: length-limited frames over a socket pair
- `server`: what runs in the sandbox (`python -m gpu_jobs.model_server`)
- `client`: `RemoteModel`, the worker's side; `checking`: its answers are parsed as a stranger's
- `process`: starts the server, watches its memory, and kills it
- `opening`: loads a model in the sandbox of this machine; `detection`: which one that is, and whether it is enough
- `sandbox`: what confines it; `code`: the files that it may read; `confinement`: the part that the server does to
  itself, with `landlock` and `seccomp`; `namespaces`: in place of bubblewrap where that is not installed
"""
