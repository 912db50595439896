"""The sandbox of model servers.

- `detection`: which layers this machine offers, and whether they are enough
- `sandbox`: starts a server in it; `code`: the files that it may read
- `confinement`: the part that the server does to itself, with `evaluator.sandbox.isolation`
- `namespaces`: in place of bubblewrap where that is not installed
"""
