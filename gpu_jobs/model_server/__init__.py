"""A language model in a sandboxed process. Submitted models are never loaded in the worker.

This package imports nothing, so that workers need no torch.

- `protocol`: the messages; `channel`: length-limited frames over a socket pair
- `server`: the program in the sandbox (`python -m gpu_jobs.model_server`)
- `client`: `RemoteModel`, the worker's side; `checking`: checks the server's answers, which are not trusted
- `process`: starts the server, watches its memory, and kills it
- `isolation`: the sandbox; `opening`: loads a model in this machine's sandbox
- `remote`, `delivery`: a server in another container, and sending it a model's files; `serving`: its program
"""

VARIABLE = "PLANARENA_MODEL_SERVER"
"""Address of an external model server."""
