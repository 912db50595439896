"""Confinement of the current process on Linux, with the standard library only.

- `landlock`: access to listed files only
- `seccomp`: system call filters, with a deny list or an allow list
- `privileges`: another user, no capabilities, exit with the parent
- `python_files`: the files that Python and an installed package need

`address`: the address of a server that is isolated in another container or pod.
"""
