"""The sandbox of model servers.

- `sandbox`: which layers this machine offers, whether they are enough, and starting a server
- `code`: the files that it may read
- `confinement`: the part that the server does to itself, with `evaluator.sandbox.isolation`
- `namespaces`: in place of bubblewrap where that is not installed
"""
