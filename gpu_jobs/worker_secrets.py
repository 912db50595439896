"""A worker's secrets: passed through a pipe and kept in memory, never in the environment or arguments.

The initial environment and arguments of a process stay readable under /proc, for every process of the same user and
every library that can be made to open a file. A worker loads submitted models.

Imports only the standard library, so that a restart is fast.
"""

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

TOKEN = "PLANARENA_WORKER_TOKEN"  # noqa: S105 - the name of the variable
TOKEN_FILE = "PLANARENA_WORKER_TOKEN_FILE"  # noqa: S105 - the name of the variable
OPTION = "--secrets-fd"
_SECRET_NAME = re.compile(r"(?i)(token|secret|password|passwd|api_?key|access_?key|_keys?$|seed|credentials)")
_LARGEST = 32 * 1024
"""Bytes. A pipe holds at least 64 KiB, so that writing never waits for a reader."""
_STORE_CREDENTIALS = (
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
)  # fmt: skip
"""Variables from which boto3 gets credentials: keys, and files or addresses of credentials."""
_PROXIES = (
    "PLANARENA_EGRESS_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
)  # fmt: skip
"""May contain credentials; libraries read them from the environment only."""
_ARBITER = ("PLANARENA_ARBITER_KEY", "PLANARENA_RATER_KEY", "PLANARENA_CHAT_KEY")
"""API keys of the arbiter that decides what the rules of a judge leave undecided, of the rater of optional columns, and
of the model that serves the chat tool."""
_TRACES = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS")
"""Credentials for the collector of traces."""
_READ_BY_LIBRARIES = (*_PROXIES, *_ARBITER, *_TRACES)
_HARMLESS = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TERM", "VIRTUAL_ENV", "NO_PROXY",
     "LD_LIBRARY_PATH", "LD_PRELOAD", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
     "RUST_BACKTRACE", "POD_NAME", "no_proxy"}
)  # fmt: skip
_NO_SECRETS = frozenset({"PYTHONHASHSEED", "TOKENIZERS_PARALLELISM", "HF_HUB_DISABLE_IMPLICIT_TOKEN", TOKEN_FILE})
"""Settings whose names only look like those of secrets."""
_HARMLESS_PREFIXES = (
    "LC_", "PYTHON", "PLANARENA_", "CUDA", "CUBLAS", "CUDNN", "NVIDIA_", "NCCL_", "HIP_", "ROCR_", "HSA_", "TORCH",
    "PYTORCH", "TRITON_", "OMP_", "MKL_", "OPENBLAS_", "GOMP_", "KMP_", "MALLOC_", "HF_", "TRANSFORMERS_",
    "TOKENIZERS_", "XDG_", "AWS_", "OTEL_",
)  # fmt: skip


class SecretsError(ValueError):
    """The pipe does not contain a launcher's message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSecrets:
    """Secrets with which a worker is started. Seeds and secret headers are fetched by each attempt instead
    (`planners.with_secrets`)."""

    token: str = field(default="", repr=False)
    """The enrolment token; empty if there is none."""
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables that libraries read from the environment: credentials of the store, proxies, headers for the collector
    of traces; and the keys of arbiter and rater."""

    def values(self) -> list[str]:
        """All secrets, for redaction."""
        return [value for value in (self.token, *self.variables.values()) if value]


NO_SECRETS = WorkerSecrets()


def names_a_secret(variable: str) -> bool:
    """Whether the name of an environment variable denotes a secret."""
    return _SECRET_NAME.search(variable) is not None


def harmless(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a worker: an allow-list of variables, without secrets."""
    return {
        name: value
        for name, value in environment.items()
        if (name in _HARMLESS or name.startswith(_HARMLESS_PREFIXES))
        and (name in _NO_SECRETS or not names_a_secret(name))
        and name not in (*_STORE_CREDENTIALS, *_READ_BY_LIBRARIES)
    }


def secrets_in(environment: Mapping[str, str], *, token_variable: str = TOKEN) -> WorkerSecrets:
    """The secrets of a worker in an environment."""
    return WorkerSecrets(
        token=environment.get(token_variable, "").strip(),
        variables={
            name: environment[name] for name in (*_STORE_CREDENTIALS, *_READ_BY_LIBRARIES) if environment.get(name)
        },
    )


def proxies_in(environment: Mapping[str, str]) -> WorkerSecrets:
    """The site's secrets for a worker on the same machine: proxies, the keys of arbiter and rater, and headers for
    the collector of traces. Its store is a folder and needs no credentials."""
    return WorkerSecrets(variables={name: environment[name] for name in _READ_BY_LIBRARIES if environment.get(name)})


def piped(secrets: WorkerSecrets) -> int:
    """The read end of a pipe with the secrets, to be inherited by one process and closed by the caller.

    Raises:
        SecretsError: they are too large.
    """
    content = {"token": secrets.token, "variables": dict(secrets.variables)}
    data = json.dumps(content).encode()
    if len(data) > _LARGEST:
        raise SecretsError(f"a worker's secrets have {len(data)} bytes; at most {_LARGEST} are possible")
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "wb") as pipe:
        pipe.write(data)
    return read_end


def received(descriptor: int) -> WorkerSecrets:
    """The secrets from a pipe, which is closed afterwards.

    Raises:
        SecretsError: it contains none.
    """
    try:
        with os.fdopen(os.dup(descriptor), "rb") as pipe:
            content = json.loads(pipe.read(_LARGEST + 1))
        return WorkerSecrets(token=str(content["token"]), variables=dict(content["variables"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SecretsError(f"{OPTION} {descriptor} contains no worker secrets ({type(error).__name__})") from None
    finally:
        _forget(descriptor)


def restart_without_secrets(arguments: Sequence[str]) -> None:
    """Replace this process by one with the same arguments, but without secrets in environment and command line.

    Returns if there are no secrets, or no /proc that exposes them.

    Args:
        arguments: the command line, as in `sys.orig_argv`.
    """
    environment, (command, token) = harmless(os.environ), _without_token(arguments)
    if not sys.platform.startswith("linux") or any(argument.startswith(OPTION) for argument in arguments):
        return
    if not token and environment == dict(os.environ):
        return
    exposed = secrets_in(os.environ, token_variable=_token_variable(arguments))
    secrets = WorkerSecrets(token=token or exposed.token, variables=exposed.variables)
    descriptor = piped(secrets)
    os.set_inheritable(descriptor, True)
    os.execve(sys.executable, [sys.executable, *command[1:], OPTION, str(descriptor)], environment)  # noqa: S606 - this very program


def _without_token(arguments: Sequence[str]) -> tuple[list[str], str]:
    """The command line without `--token VALUE` or `--token=VALUE`, and the value."""
    others: list[str] = []
    token, takes_next = "", False
    for argument in arguments:
        if takes_next:
            token, takes_next = argument, False
        elif argument == "--token":
            takes_next = True
        elif argument.startswith("--token="):
            token = argument.partition("=")[2]
        else:
            others.append(argument)
    return others, token.strip()


def _token_variable(arguments: Sequence[str]) -> str:
    """The value of `--token-env`."""
    name = TOKEN
    for at, argument in enumerate(arguments):
        if argument == "--token-env" and at + 1 < len(arguments):
            name = arguments[at + 1]
        elif argument.startswith("--token-env="):
            name = argument.partition("=")[2]
    return name


def _forget(descriptor: int) -> None:
    if descriptor > 2:
        with suppress(OSError):
            os.close(descriptor)
        return
    # A standard stream must stay open, or the next file would get its number.
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, descriptor)
    os.close(null)
