"""How a worker gets its secrets, and that /proc shows none of them."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpu_jobs.worker_secrets import SecretsError, WorkerSecrets, harmless, piped, received, secrets_in

SECRETS = WorkerSecrets(token="t" * 30, variables={"AWS_SECRET_ACCESS_KEY": "k"})
LOOKS_AT_ITSELF = """
import json, os, pathlib, sys
from gpu_jobs.worker_secrets import received, restart_without_secrets
restart_without_secrets(sys.orig_argv)
at = sys.argv.index("--secrets-fd")
secrets = received(int(sys.argv[at + 1]))
proc = [pathlib.Path(f"/proc/self/{name}").read_bytes().decode() for name in ("environ", "cmdline")]
print(json.dumps({"proc": proc, "argv": sys.argv[1:at], "token": secrets.token,
                  "variables": dict(secrets.variables), "environment": dict(os.environ)}))
"""


def started(tmp_path, *arguments, **environment):
    program = tmp_path / "program.py"
    program.write_text(LOOKS_AT_ITSELF)
    done = subprocess.run(
        [sys.executable, str(program), *arguments],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(Path.cwd()), **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return json.loads(done.stdout)


def test_what_is_piped_is_received_once():
    descriptor = piped(SECRETS)
    assert received(descriptor) == SECRETS
    with pytest.raises(SecretsError, match=f"--secrets-fd {descriptor} contains no worker secrets"):
        received(descriptor)


def test_secrets_are_in_no_repr_and_are_listed_for_redaction():
    assert "ttt" not in repr(SECRETS)
    assert SECRETS.values() == ["t" * 30, "k"]


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"token": "t"}'])
def test_a_pipe_without_secrets_is_named(content):
    read_end, write_end = os.pipe()
    os.write(write_end, content)
    os.close(write_end)
    with pytest.raises(SecretsError, match="contains no worker secrets"):
        received(read_end)


def test_too_many_secrets_are_refused_instead_of_waiting_for_a_reader():
    with pytest.raises(SecretsError, match="at most"):
        piped(WorkerSecrets(token="t" * 100_000))


def test_a_worker_that_is_started_by_hand_restarts_without_its_secrets_and_leaves_the_seed_behind(tmp_path):
    found = started(
        tmp_path, "worker", "--url", "http://site",
        PLANARENA_WORKER_TOKEN="secret-token", PLANARENA_HIDDEN_SEED="secret-seed", PLANARENA_DEVICE="cpu",
        AWS_SECRET_ACCESS_KEY="secret-key", DATABASE_URL="secret-address", PLANARENA_EGRESS_PORTS="443",
        PLANARENA_EGRESS_PROXY="http://arena:secret-word@proxy:3128",
    )  # fmt: skip
    assert found["token"] == "secret-token"
    assert found["variables"] == {
        "AWS_SECRET_ACCESS_KEY": "secret-key", "PLANARENA_EGRESS_PROXY": "http://arena:secret-word@proxy:3128",
    }  # fmt: skip
    assert found["environment"]["PLANARENA_EGRESS_PORTS"] == "443"
    assert found["argv"] == ["worker", "--url", "http://site"]
    assert found["environment"]["PLANARENA_DEVICE"] == "cpu"
    assert not [
        text for text in (*found["proc"], str(found["environment"])) if "secret-t" in text or "secret-s" in text
    ]
    assert "secret-" not in "".join(found["proc"]).replace("--secrets-fd", "")
    assert "secret-seed" not in json.dumps(found)


@pytest.mark.parametrize(
    ("given", "environment", "left"),
    [
        (["--token", "secret-token"], {}, []),
        (["--token=secret-token"], {}, []),
        (["--token-env", "MINE"], {"MINE": "secret-token"}, ["--token-env", "MINE"]),
    ],
)
def test_a_token_on_the_command_line_or_in_any_variable_is_gone_after_the_restart(tmp_path, given, environment, left):
    found = started(tmp_path, "worker", *given, "--name", "w", **environment)
    assert found["token"] == "secret-token"
    assert found["argv"] == ["worker", *left, "--name", "w"]
    assert "secret-token" not in "".join(found["proc"])


def test_only_listed_variables_without_a_secret_s_name_are_handed_on():
    environment = {
        "PATH": "/bin", "HF_HOME": "/models", "HF_TOKEN": "x", "PLANARENA_SECRETS_KEY": "x", "DATABASE_URL": "x",
        "CUDA_VISIBLE_DEVICES": "0", "MY_PASSWORD": "x", "AWS_ACCESS_KEY_ID": "x", "AWS_REGION": "eu", "ANYTHING": "x",
        "https_proxy": "http://user:x@proxy",
    }  # fmt: skip
    assert harmless(environment) == {
        "PATH": "/bin", "HF_HOME": "/models", "CUDA_VISIBLE_DEVICES": "0", "AWS_REGION": "eu",
    }  # fmt: skip
    assert secrets_in(environment).variables == {"AWS_ACCESS_KEY_ID": "x", "https_proxy": "http://user:x@proxy"}


def test_credentials_from_files_and_addresses_are_secrets_and_settings_of_libraries_are_none():
    """As in clusters that give pods a role instead of a key."""
    names = ("SHARED_CREDENTIALS_FILE", "WEB_IDENTITY_TOKEN_FILE", "CONTAINER_CREDENTIALS_FULL_URI",
             "CONTAINER_AUTHORIZATION_TOKEN_FILE")  # fmt: skip
    secret = {f"AWS_{name}": "/var/run/credentials" for name in names}
    assert (harmless(secret), secrets_in(secret).variables) == ({}, secret)
    sounding = dict.fromkeys(["PYTHONHASHSEED", "TOKENIZERS_PARALLELISM", "HF_HUB_DISABLE_IMPLICIT_TOKEN"], "0")
    assert harmless(sounding) == sounding


@pytest.mark.full
def test_the_worker_program_has_no_secret_in_its_environment(tmp_path):
    """The real program, started as an operator does, asking a site that is not there."""
    process = subprocess.Popen(
        [sys.executable, "-m", "gpu_jobs", "worker", "--url", "http://127.0.0.1:9", "--store", str(tmp_path / "s")],
        env={**os.environ, "PLANARENA_WORKER_TOKEN": "secret-token-of-the-operator", "PLANARENA_DATA": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 60
        while "--secrets-fd" not in Path(f"/proc/{process.pid}/cmdline").read_text():
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.02)
        environment = Path(f"/proc/{process.pid}/environ").read_text()
        assert "PLANARENA_DATA" in environment
        assert "secret-token-of-the-operator" not in environment
    finally:
        process.kill()
        process.wait()
