"""Clients share a TLS context as long as the files that it was read from are the same."""

import os
from pathlib import Path

import certifi
import pytest

from evaluator.network.authorities import bundled_authorities, system_authorities


@pytest.mark.parametrize("authorities", [system_authorities, bundled_authorities])
def test_one_context_serves_all_until_another_file_is_named_or_the_file_is_renewed(authorities, tmp_path, monkeypatch):
    usual = authorities()
    assert authorities() is usual
    named = tmp_path / "ca.pem"
    named.write_bytes(Path(certifi.where()).read_bytes())
    with monkeypatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(named))
        private = authorities()
        assert private is not usual
        assert authorities() is private
        os.utime(named, ns=(0, 0))
        assert authorities() is not private
    assert authorities() is usual
