"""The example pipeline that builds, describes, signs and verifies the images."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "examples" / "ci" / "release-images.yml").read_text()
JOB = yaml.safe_load(TEXT)["jobs"]["image"]
MANUAL = (ROOT / "docs" / "secure.md").read_text()


def step(name):
    (found,) = [one for one in JOB["steps"] if one.get("name") == name]
    return found


@pytest.mark.parametrize("image", JOB["strategy"]["matrix"]["image"])
@pytest.mark.parametrize("digest", [True, False])
def test_an_image_whose_base_has_no_digest_is_not_built(image, digest, tmp_path):
    target = tmp_path / "k8s" / "images" / f"{image}.Dockerfile"
    target.parent.mkdir(parents=True)
    shutil.copy(ROOT / "k8s" / "images" / f"{image}.Dockerfile", target)
    if not digest:
        target.write_text(re.sub(r"@sha256:[0-9a-f]{64}", "", target.read_text(), count=1))
    command = step("Refuse base images without a digest")["run"]
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", command], cwd=tmp_path, env={"IMAGE": image, "PATH": "/usr/bin:/bin"}
    )
    assert (done.returncode == 0) is digest


def test_what_is_built_is_described_signed_and_verified_in_this_order_and_the_manual_says_how():
    assert JOB["strategy"]["matrix"]["image"] == ["web", "worker"]
    # BuildKit reads SOURCE_DATE_EPOCH from the environment.
    assert "SOURCE_DATE_EPOCH=" in step("Take the time of the commit for that of all files")["run"]
    assert step("Build and push")["with"]["outputs"] == "type=registry,rewrite-timestamp=true"
    assert "-m evaluator sbom" in step("Write the bill of materials from the image itself")["run"]
    sign, attest, *_ = step("Sign the image and attach the bill of materials")["run"].splitlines()
    assert sign == 'cosign sign --yes "$NAME@$DIGEST"'
    assert {"attest", "--type", "cyclonedx", "--predicate", "sbom.cdx.json"} <= set(attest.split())
    for text in (step("Verify both")["run"], MANUAL):
        assert "cosign verify " in text
        assert "cosign verify-attestation --type cyclonedx" in text
        assert "--certificate-oidc-issuer https://token.actions.githubusercontent.com" in text
        assert "--certificate-identity" in text
    in_order = [
        "Refuse base images without a digest", "Take the time of the commit for that of all files", "Build and push",
        "Write the bill of materials from the image itself", "Sign the image and attach the bill of materials",
        "Verify both",
    ]  # fmt: skip
    assert [one["name"] for one in JOB["steps"] if one.get("name") in in_order] == in_order


def test_the_job_may_write_packages_and_nothing_else_of_the_repository():
    assert yaml.safe_load(TEXT)["permissions"] == {"contents": "read"}
    # Keyless signatures need the identity.
    assert JOB["permissions"] == {"contents": "read", "packages": "write", "id-token": "write"}
