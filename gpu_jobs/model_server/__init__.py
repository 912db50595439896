"""A language model in a sandboxed process. Submitted models are never loaded in the worker.

Nothing is imported here: the worker needs no torch for it.

- `protocol`: the messages; `channel`: length-limited frames over a socket pair
- `server`: what runs in the sandbox (`python -m gpu_jobs.model_server`)
- `client`: `RemoteModel`, the worker's side; `checking`: parses the server's answers, which are not trusted
- `process`: starts the server, watches its memory, and kills it
- `isolation`: the sandbox; `opening`: loads a model in the sandbox of this machine
- `remote`, `delivery`: a server in another container, and sending it the files of a model; `serving`: its program
- `vllm_opening`: the worker's side of another engine in a third container
"""

VARIABLE = "PLANARENA_MODEL_SERVER"
"""Where a model server listens that this process did not start."""
PORT_OFFSET = 1
"""Another engine listens on the port after the model server's."""
