"""A worker's GPU memory, read from a driver that stands in for NVIDIA's."""

import subprocess

import pytest

from gpu_jobs.gpu_memory import gpu_memory_bytes

_DRIVER = """
#include <stddef.h>
int cuInit(unsigned flags) {{ return {init}; }}
int cuDeviceGet(int *device, int ordinal) {{ *device = 7; return 0; }}
int cuDeviceTotalMem_v2(size_t *bytes, int device) {{ *bytes = device == 7 ? 85024112640UL : 1; return 0; }}
"""


@pytest.fixture
def driver(tmp_path):
    def built(*, init: int = 0) -> dict[str, str]:
        (tmp_path / "driver.c").write_text(_DRIVER.format(init=init))
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-o", tmp_path / "libcuda.so.1", tmp_path / "driver.c"],
            check=True,
        )
        return {"LD_LIBRARY_PATH": str(tmp_path)}

    return built


def test_the_driver_says_how_much_the_first_visible_gpu_has(driver):
    assert gpu_memory_bytes(device="cuda", environment=driver()) == 85_024_112_640


def test_a_driver_without_a_gpu_says_nothing(driver):
    assert gpu_memory_bytes(device="cuda", environment=driver(init=100)) is None


def test_a_machine_without_a_driver_says_nothing(tmp_path):
    assert gpu_memory_bytes(device="cuda", environment={"LD_LIBRARY_PATH": str(tmp_path)}) is None


def test_the_memory_of_a_cpu_is_not_that_of_a_gpu(driver):
    assert gpu_memory_bytes(device="cpu", environment=driver()) is None


def test_a_worker_does_not_see_the_gpu_of_a_model_server(driver):
    environment = {**driver(), "PLANARENA_MODEL_SERVER": "models:7000"}
    assert gpu_memory_bytes(device="cuda", environment=environment) is None
