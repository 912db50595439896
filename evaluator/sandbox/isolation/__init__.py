"""What a Linux process does to confine itself, with the standard library only.

- `landlock`: opens only listed files
- `seccomp`: system calls are refused, by a list of those that are not allowed or of those that are
- `privileges`: another user, no capabilities, no life after the parent's

`address` says where what is isolated in another container or pod listens.
"""
