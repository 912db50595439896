"""The copy of the tables of `transformers`."""

import subprocess
import sys

from transformers.models.auto import modeling_auto

from evaluator.planners.language_models.architectures import CAUSAL, SEQUENCE_TO_SEQUENCE


def test_they_are_those_of_the_installed_transformers():
    assert set(modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES) == CAUSAL
    assert set(modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES) == SEQUENCE_TO_SEQUENCE


def test_looking_at_a_model_loads_no_torch():
    code = (
        "import sys; import evaluator.planners.language_models.hub_lookup; "
        "import evaluator.planners.language_models.checkpoint_zip; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
