"""A worker's secrets: handed over through a pipe and kept in its memory, never in its environment or arguments.

What a process is started with stays readable under /proc for as long as it lives, by every process of the same user and
by every library in it that opens the file it is told to. A worker loads strangers' models.

Imports the standard library alone: a worker that restarts should not have imported everything first.
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
"""All ways in which boto3 gets credentials from the environment: keys, and where to read or fetch them."""
_PROXIES = (
    "PLANARENA_EGRESS_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
)  # fmt: skip
"""May hold a name and a password, and libraries read them from the environment only."""
_ARBITER = ("PLANARENA_ARBITER_KEY",)
"""The API key of the arbiter that settles what the rules of a judge leave undecided."""
_TRACES = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS")
"""What the collector of traces asks for."""
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
    """What came through the pipe is not what a launcher sends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSecrets:
    """Everything that a worker is started with and nobody else may know. Seeds and secret headers are not: they come by
    calls of the attempt that needs them (`planners.with_secrets`)."""

    token: str = field(default="", repr=False)
    """Its enrolment token; empty: there is none."""
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What libraries read from the environment of the running process: credentials of the store, proxies, headers for
    the collector of traces; and the key of the arbiter."""

    def values(self) -> list[str]:
        """All secrets, for taking them out of texts."""
        return [value for value in (self.token, *self.variables.values()) if value]


NO_SECRETS = WorkerSecrets()


def names_a_secret(variable: str) -> bool:
    """Whether the name of an environment variable says that its value is a secret."""
    return _SECRET_NAME.search(variable) is not None


def harmless(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables a worker is started with: those on a list of names, without any that names a secret."""
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
    """What a worker that the site starts on its own machine needs of the site's secrets: the way out, the key of the
    arbiter that its judge may ask, and the headers of the collector of traces.
    Its store is a folder, so that it gets no credentials of the site's store."""
    return WorkerSecrets(variables={name: environment[name] for name in _READ_BY_LIBRARIES if environment.get(name)})


def piped(secrets: WorkerSecrets) -> int:
    """The read end of a pipe that holds the secrets, to be inherited by one process and closed here.

    Raises:
        SecretsError: they are too large.
    """
    content = {"token": secrets.token, "variables": dict(secrets.variables)}
    data = json.dumps(content).encode()
    if len(data) > _LARGEST:
        raise SecretsError(f"a worker's secrets have {len(data)} bytes; at most {_LARGEST} can be handed over")
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "wb") as pipe:
        pipe.write(data)
    return read_end


def received(descriptor: int) -> WorkerSecrets:
    """The secrets from a pipe, which is empty and closed afterwards.

    Raises:
        SecretsError: there are none in it.
    """
    try:
        with os.fdopen(os.dup(descriptor), "rb") as pipe:
            content = json.loads(pipe.read(_LARGEST + 1))
        return WorkerSecrets(token=str(content["token"]), variables=dict(content["variables"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SecretsError(f"{OPTION} {descriptor} holds no secrets of a worker ({type(error).__name__})") from None
    finally:
        _forget(descriptor)


def restart_without_secrets(arguments: Sequence[str]) -> None:
    """Replace this process by one with the same arguments whose environment and command line hold no secret.

    Returns where there is nothing to hide, and where there is no /proc to read it from.

    Args:
        arguments: all of the command line, as in `sys.orig_argv`.
    """
    environment, (command, token) = harmless(os.environ), _without_token(arguments)
    if not sys.platform.startswith("linux") or any(one.startswith(OPTION) for one in arguments):
        return
    if not token and environment == dict(os.environ):
        return
    found = secrets_in(os.environ, token_variable=_token_variable(arguments))
    secrets = WorkerSecrets(token=token or found.token, variables=found.variables)
    descriptor = piped(secrets)
    os.set_inheritable(descriptor, True)
    os.execve(sys.executable, [sys.executable, *command[1:], OPTION, str(descriptor)], environment)  # noqa: S606 - this very program


def _without_token(arguments: Sequence[str]) -> tuple[list[str], str]:
    """The command line without `--token VALUE` or `--token=VALUE`, and the value."""
    kept: list[str] = []
    token, takes_next = "", False
    for argument in arguments:
        if takes_next:
            token, takes_next = argument, False
        elif argument == "--token":
            takes_next = True
        elif argument.startswith("--token="):
            token = argument.partition("=")[2]
        else:
            kept.append(argument)
    return kept, token.strip()


def _token_variable(arguments: Sequence[str]) -> str:
    """What `--token-env` names."""
    named = TOKEN
    for at, argument in enumerate(arguments):
        if argument == "--token-env" and at + 1 < len(arguments):
            named = arguments[at + 1]
        elif argument.startswith("--token-env="):
            named = argument.partition("=")[2]
    return named


def _forget(descriptor: int) -> None:
    if descriptor > 2:
        with suppress(OSError):
            os.close(descriptor)
        return
    # A standard stream stays open, or the next file would take its number.
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, descriptor)
    os.close(null)
