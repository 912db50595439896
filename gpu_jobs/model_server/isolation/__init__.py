"""The sandbox of model servers.

- `sandbox`: the layers of this machine, whether they suffice, and starting a server
- `code`: the files that it may read
- `confinement`: the layers that the server applies to itself, with `evaluator.sandbox.isolation`
- `namespaces`: a replacement for bubblewrap
"""
