"""ControlLLM's files where the suites find them."""

import pytest

from evaluator.controlllm.toolbench.released import source
from evaluator.core.suites import registry


@pytest.fixture(scope="module")
def data(tmp_path_factory, controlllm_folder):
    """The released files, fetched; the environment says where."""
    folder = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLANARENA_DATA", str(folder))
        patch.delenv("PLANARENA_TOOL_INPUTS", raising=False)
        source.take(folder=controlllm_folder, target=source.suite_folder())
        registry.forget()
        yield folder
    registry.forget()
