"""The public requests of the shipped suites and their gold plans are what published results are of.

The digest of arc-mini, whose grids are no part of its requests' words, is in `arc/mini/test_draws.py`.
"""

import pytest

from evaluator.core import canonical_json
from evaluator.core.plans.model import plan_to_json
from evaluator.core.suites.registry import suite_of

DIGESTS = {
    "openagi": "3c91eb05d11068c20b4e2537ba44d82c855d46220d5d4c2fa06162caf15d3485",
    "openagi-season": "574ca22519bcb74876873ec85d1465267f4f00fed3c5486ca02105039f215727",
    "toolmini": "ab40221f777434b210895775b78e4127b1fe746cb3dcf53831c62cb63e29e302",
    "toolmini-abstain": "23863cbc3c95ecbc8877d64fa5854c73dc0f13315839cd32f63d4c08db2c10e3",
    "toolworld": "d8088c116d4afc191de84b95d71daec4150fd915c9879512e1c868bc069f54c6",
    "soundworld": "c8c1518bfe2d9f8a284986338a9b5581cf3e9362fae9d27640d0d82e3341d201",
    "pointmini": "6f33829e32272cacf15a7fd9a0cc766e1fd35d421ae04e96b94669a145396d9d",
    "lumos-mini": "68ebbb75d71a12a392e5f1d2d331c0d39bd03ccf650d25ea569aee0f40d4d233",
}


@pytest.mark.parametrize("slug", DIGESTS)
def test_public_requests_and_gold_plans_have_not_changed(slug):
    """A request that changes on purpose makes earlier results incomparable: raise the version of its generator."""
    tasks = [
        [task.key, task.text, task.metric, dict(task.resources), None if task.gold is None else plan_to_json(task.gold)]
        for task in suite_of(slug).tasks
    ]
    assert canonical_json.digest(tasks) == DIGESTS[slug]
