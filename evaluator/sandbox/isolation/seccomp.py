"""Seccomp filters through libseccomp: for a process that loads a model, and for one that only computes.

A filter is irrevocable and applies to all threads started later. The library maps the numbers of the architecture, and
kills a process that calls by those of another.
"""

import ctypes
import errno
import os
from collections.abc import Iterable

LIBRARY = "libseccomp.so.2"
_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
_NOT_EQUAL, _EQUAL, _MASKED_EQUAL = 1, 4, 7
_CLONE_THREAD = 0x00010000
_PROT_EXEC = 4
_MAP_SHARED, _MAP_ANONYMOUS, _MAP_GROWSDOWN, _MAP_HUGETLB = 0x01, 0x20, 0x0100, 0x40000
_PR_SET_DUMPABLE, _PR_SET_SECCOMP = 4, 22
_RECORD_LOCKS = (6, 7, 37, 38)
"""`F_SETLK`, `F_SETLKW`, `F_OFD_SETLK` and `F_OFD_SETLKW`: a file can have any number of locks, in kernel memory."""

SOCKETS = ("socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "sendmsg", "sendmmsg", "recvmsg",
           "recvmmsg")  # fmt: skip
"""The channel is inherited, and used with `read` and `write`; without these calls no descriptor can be passed."""
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
"""System V and POSIX IPC objects, which would outlive the process."""
UNCOUNTED_MEMORY = ("vmsplice", "splice", "tee", "inotify_init", "inotify_init1", "io_setup", "seccomp",
                    "landlock_create_ruleset", "landlock_add_rule")  # fmt: skip
"""Calls whose memory no resource limit counts. A spliced page of 4 KiB pins the huge page around it."""
PIPES_AND_MEMORY_FILES = ("pipe", "pipe2", "memfd_create")
"""Not counted either, but GPU drivers use them."""
REFUSED = (
    *OTHER_PROCESSES, *NEW_PROCESSES, *NAMESPACES_AND_MOUNTS, *KERNEL, *IDENTITY, *SHARED_MEMORY, *UNCOUNTED_MEMORY
)  # fmt: skip
COMPUTING = ("brk", "munmap", "mremap", "madvise", "futex", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn",
             "sigaltstack", "clock_gettime", "clock_getres", "gettimeofday", "time", "getrandom", "sched_yield",
             "restart_syscall", "exit", "exit_group")  # fmt: skip
"""Calls of a process that only computes, besides conditional `write`, `mmap` and `mprotect`."""


class SeccompError(OSError):
    """The filter could not be built or loaded."""


class _Comparison(ctypes.Structure):
    """`struct scmp_arg_cmp`."""

    _fields_ = [
        ("argument", ctypes.c_uint),
        ("operator", ctypes.c_int),
        ("one", ctypes.c_uint64),
        ("other", ctypes.c_uint64),
    ]


def restrict(*, sockets: bool = False, locks: bool = False, drivers: bool = False) -> None:
    """Refuse the calls in `REFUSED` with EPERM: other processes, privileges, and memory that is not counted, such as
    anonymous shared memory, which the kernel keeps while it is mapped but not present.

    Args:
        sockets: whether sockets are allowed.
        locks: whether record locks are allowed.
        drivers: whether GPU drivers run in this process, which map shared memory and use pipes and memory files.

    Raises:
        SeccompError: the library is missing, or the kernel refused.
    """
    refused = [*REFUSED, *(() if sockets else SOCKETS), *(() if drivers else PIPES_AND_MEMORY_FILES)]
    with _Context(default=_ALLOW) as context:
        for name in refused:
            context.add(name, action=_ERRNO | errno.EPERM)
        # Threads are created by `clone`; a filter cannot see the flags of `clone3`, without which glibc falls back.
        context.add("clone3", action=_ERRNO | errno.ENOSYS)
        no_thread = _Comparison(0, _MASKED_EQUAL, _CLONE_THREAD, 0)
        context.add("clone", action=_ERRNO | errno.EPERM, where=[no_thread])
        for name in ("kill", "tgkill"):
            context.add(name, action=_ERRNO | errno.EPERM, where=[_Comparison(0, _NOT_EQUAL, os.getpid(), 0)])
        context.add("prlimit64", action=_ERRNO | errno.EPERM, where=[_Comparison(0, _NOT_EQUAL, 0, 0)])
        for option in (_PR_SET_DUMPABLE, _PR_SET_SECCOMP):
            context.add("prctl", action=_ERRNO | errno.EPERM, where=[_Comparison(0, _EQUAL, option, 0)])
        shared = () if drivers else (_MAP_SHARED | _MAP_ANONYMOUS,)
        for flags in (*shared, _MAP_GROWSDOWN, _MAP_HUGETLB):
            context.add("mmap", action=_ERRNO | errno.EPERM, where=[_Comparison(3, _MASKED_EQUAL, flags, flags)])
        for command in () if locks else _RECORD_LOCKS:
            context.add("fcntl", action=_ERRNO | errno.EPERM, where=[_Comparison(1, _EQUAL, command, 0)])
        context.load()


class ComputingFilter:
    """A filter for a process that only computes: memory management, writes to one descriptor and exit are allowed, all
    other calls fail with EPERM. Prepared before a fork and loaded by the children."""

    def __init__(self, *, writable: int) -> None:
        """Prepare the filter; `writable` is the descriptor.

        Raises:
            SeccompError: the library is missing.
        """
        self._context = _Context(default=_ERRNO | errno.EPERM)
        for name in COMPUTING:
            self._context.add(name, action=_ALLOW)
        self._context.add("write", action=_ALLOW, where=[_Comparison(0, _EQUAL, writable, 0)])
        for name in ("mmap", "mprotect"):
            self._context.add(name, action=_ALLOW, where=[_Comparison(2, _MASKED_EQUAL, _PROT_EXEC, 0)])

    def load(self) -> None:
        """Load the filter for this process.

        Raises:
            SeccompError: the kernel refused.
        """
        self._context.load()


class _Context:
    """`scmp_filter_ctx` of libseccomp."""

    def __init__(self, *, default: int) -> None:
        try:
            self._library = ctypes.CDLL(LIBRARY, use_errno=True)
        except OSError as error:
            raise SeccompError(errno.ENOENT, f"{LIBRARY} is not installed ({error})") from None
        self._library.seccomp_init.restype = ctypes.c_void_p
        self._pointer = ctypes.c_void_p(self._library.seccomp_init(ctypes.c_uint32(default)))
        if not self._pointer:
            raise SeccompError(errno.ENOMEM, "seccomp_init")

    def __enter__(self) -> "_Context":
        return self

    def __exit__(self, *error: object) -> None:
        self._library.seccomp_release(self._pointer)

    def add(self, name: str, *, action: int, where: Iterable[_Comparison] = ()) -> None:
        number = self._library.seccomp_syscall_resolve_name(name.encode())
        if number == -1:
            return  # unknown to this release of the library
        comparisons = list(where)
        array = (_Comparison * len(comparisons))(*comparisons)
        code = self._library.seccomp_rule_add_array(
            self._pointer, ctypes.c_uint32(action), ctypes.c_int(number), ctypes.c_uint(len(comparisons)), array
        )
        # EDOM: the call exists on other architectures only.
        if code != -errno.EDOM:
            _check(code, call=name)

    def load(self) -> None:
        _check(self._library.seccomp_load(self._pointer), call="seccomp_load")


def _check(code: int, *, call: str) -> None:
    if code < 0:
        raise SeccompError(-code, f"{call}: {os.strerror(-code)}")
