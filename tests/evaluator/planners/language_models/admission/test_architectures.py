"""The closed list of architectures: each can be loaded, and every setting of its class is known."""

import dataclasses
import subprocess
import sys

from evaluator.planners.language_models.admission.architectures import CAUSAL, SEQUENCE_TO_SEQUENCE
from evaluator.planners.language_models.admission.config_fields import FIELDS, UNUSED

ALL = sorted(CAUSAL | SEQUENCE_TO_SEQUENCE)


def test_they_are_among_those_of_the_installed_transformers():
    from transformers.models.auto import modeling_auto

    assert set(modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES) >= CAUSAL
    assert set(modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES) >= SEQUENCE_TO_SEQUENCE


def test_every_setting_of_an_architecture_has_a_range_or_is_left_out_and_its_default_is_within_it():
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    unknown, outside = {}, {}
    for architecture in ALL:
        kind = CONFIG_MAPPING[architecture]
        names = {field.name for field in dataclasses.fields(kind)} | set(kind.attribute_map)
        unknown[architecture] = names - set(FIELDS) - UNUSED
        for field in dataclasses.fields(kind):
            if field.name in FIELDS and field.default not in {None, dataclasses.MISSING}:
                read = FIELDS[field.name](field.default, field.name)
                outside |= {} if read == field.default else {(architecture, field.name): read}
    assert {architecture: names for architecture, names in unknown.items() if names} == {}
    assert outside == {}


def test_looking_at_a_model_loads_no_torch():
    code = (
        "import sys; import evaluator.planners.language_models.admission.hub_lookup; "
        "import evaluator.planners.language_models.admission.checkpoint_zip; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
