"""A seccomp filter through libseccomp: system calls that a model server never needs are refused (EPERM).

It cannot be taken back, and holds for all threads that start later. The library knows the architecture's numbers and
kills what calls by another architecture's.
"""

import ctypes
import errno
import os
from collections.abc import Iterable

LIBRARY = "libseccomp.so.2"
_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
_NOT_EQUAL, _MASKED_EQUAL = 1, 7
_CLONE_THREAD = 0x00010000

SOCKETS = ("socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "sendmsg", "sendmmsg", "recvmsg",
           "recvmmsg")  # fmt: skip
"""The channel is inherited, and read and written by other calls; without these two no descriptor is handed over."""
OTHER_PROCESSES = ("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease",
                   "pidfd_open", "pidfd_getfd", "pidfd_send_signal", "kcmp", "rt_sigqueueinfo", "rt_tgsigqueueinfo",
                   "tkill", "setpriority", "ioprio_set", "sched_setscheduler", "sched_setattr", "sched_setparam",
                   "move_pages", "migrate_pages")  # fmt: skip
NEW_PROCESSES = ("fork", "vfork", "execve", "execveat")
NAMESPACES_AND_MOUNTS = ("unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree",
                         "open_tree_attr", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "swapon",
                         "swapoff", "quotactl", "quotactl_fd", "name_to_handle_at", "open_by_handle_at",
                         "fanotify_init", "fanotify_mark")  # fmt: skip
KERNEL = ("bpf", "userfaultfd", "perf_event_open", "io_uring_setup", "io_uring_enter", "io_uring_register", "keyctl",
          "add_key", "request_key", "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load",
          "reboot", "syslog", "acct", "settimeofday", "clock_settime", "adjtimex", "clock_adjtime", "personality",
          "sethostname", "setdomainname", "iopl", "ioperm", "modify_ldt", "vhangup", "lookup_dcookie", "nfsservctl",
          "memfd_secret")  # fmt: skip
IDENTITY = ("setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setfsuid", "setfsgid", "setgroups",
            "capset")  # fmt: skip
SHARED_MEMORY = ("shmget", "shmat", "shmctl", "msgget", "msgsnd", "msgrcv", "msgctl", "semget", "semop", "semtimedop",
                 "semctl", "mq_open", "mq_unlink")  # fmt: skip
"""It would outlive the process."""
REFUSED = (
    *SOCKETS, *OTHER_PROCESSES, *NEW_PROCESSES, *NAMESPACES_AND_MOUNTS, *KERNEL, *IDENTITY, *SHARED_MEMORY
)  # fmt: skip


class SeccompError(OSError):
    """There is no filter."""


class _Comparison(ctypes.Structure):
    """`struct scmp_arg_cmp`."""

    _fields_ = [
        ("argument", ctypes.c_uint),
        ("operator", ctypes.c_int),
        ("one", ctypes.c_uint64),
        ("other", ctypes.c_uint64),
    ]


def restrict() -> None:
    """Put the filter on this process.

    Raises:
        SeccompError: the library is missing, or the kernel refused.
    """
    library = _library()
    context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(_ALLOW)))
    if not context:
        raise SeccompError(errno.ENOMEM, "seccomp_init")
    try:
        for name in REFUSED:
            _refuse(library, context, name=name)
        # Threads are made by `clone`; `clone3` keeps its flags where no filter sees them, and glibc does without it.
        _refuse(library, context, name="clone3", code=errno.ENOSYS)
        _refuse(library, context, name="clone", where=[_Comparison(0, _MASKED_EQUAL, _CLONE_THREAD, 0)])
        for name in ("kill", "tgkill"):
            _refuse(library, context, name=name, where=[_Comparison(0, _NOT_EQUAL, os.getpid(), 0)])
        _refuse(library, context, name="prlimit64", where=[_Comparison(0, _NOT_EQUAL, 0, 0)])
        _checked(library.seccomp_load(context), what="seccomp_load")
    finally:
        library.seccomp_release(context)


def _library() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(LIBRARY, use_errno=True)
    except OSError as error:
        raise SeccompError(errno.ENOENT, f"{LIBRARY} is not installed ({error})") from None
    library.seccomp_init.restype = ctypes.c_void_p
    return library


def _refuse(
    library: ctypes.CDLL,
    context: ctypes.c_void_p,
    *,
    name: str,
    code: int = errno.EPERM,
    where: Iterable[_Comparison] = (),
) -> None:
    number = library.seccomp_syscall_resolve_name(name.encode())
    if number == -1:
        # Not known to this release of the library.
        return
    comparisons = list(where)
    array = (_Comparison * len(comparisons))(*comparisons)
    found = library.seccomp_rule_add_array(
        context, ctypes.c_uint32(_ERRNO | code), ctypes.c_int(number), ctypes.c_uint(len(comparisons)), array
    )
    # What another architecture has alone needs no rule here.
    if found != -errno.EDOM:
        _checked(found, what=name)


def _checked(found: int, *, what: str) -> None:
    if found < 0:
        raise SeccompError(-found, f"{what}: {os.strerror(-found)}")
