"""Worker pools, as the operator describes them."""

import pytest

from gpu_jobs.launchers.pools import Needs, Pool, PoolsError, Takes, pool_of, pools_from

POOLS = """[
    {"name": "cpu", "takes": ["judged"], "endpoints": true},
    {"name": "gpu", "device": "cuda", "takes": ["executed", "judged", "models"], "most": 8}
]"""


def test_pools_are_read_in_the_operator_s_order():
    cpu, gpu = pools_from(POOLS)
    assert cpu == Pool(name="cpu", takes=frozenset({Takes.JUDGED}), endpoints=True, most=4)
    assert (gpu.name, gpu.device, gpu.most, gpu.endpoints) == ("gpu", "cuda", 8, False)
    assert pools_from(" ") == ()


@pytest.mark.parametrize(
    ("needs", "name"),
    [
        (Needs(executed=False), "cpu"),
        (Needs(executed=False, endpoint=True), "cpu"),
        (Needs(executed=False, model=True), "gpu"),
        (Needs(executed=True), "gpu"),
        (Needs(executed=True, model=True), "gpu"),
        (Needs(executed=True, endpoint=True), None),
    ],
)
def test_the_first_pool_that_runs_an_evaluation_is_scaled_for_it(needs, name):
    found = pool_of(needs=needs, pools=pools_from(POOLS))
    assert (found and found.name) == name


def test_pools_share_work_where_they_take_the_same_suites():
    judged, both, executed = (
        Pool(name=f"p{number}", takes=frozenset(takes))
        for number, takes in enumerate(({Takes.JUDGED}, {Takes.JUDGED, Takes.EXECUTED}, {Takes.EXECUTED, Takes.MODELS}))
    )
    assert judged.shares_work_with(both)
    assert both.shares_work_with(executed)
    assert not judged.shares_work_with(executed)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gpu", "Invalid JSON"),
        ('{"name": "gpu"}', "should be a valid tuple|should be a valid array"),
        ('[{"takes": ["judged"]}]', "0.name: Field required"),
        ('[{"name": "GPU"}]', "0.name: String should match"),
        ('[{"name": "a-name-of-21-letters-"}]', "0.name"),
        ('[{"name": "gpu", "take": ["judged"]}]', "0.take: Extra inputs are not permitted"),
        ('[{"name": "gpu", "takes": ["all"]}]', "0.takes.0: Input should be 'executed', 'judged' or 'models'"),
        ('[{"name": "gpu", "takes": ["models"]}]', "0.takes: Value error, needs executed or judged"),
        ('[{"name": "gpu", "takes": []}]', "0.takes: Value error, needs executed or judged"),
        ('[{"name": "gpu", "most": 0}]', "0.most: Input should be greater than or equal to 1"),
        ('[{"name": "gpu", "most": true}]', "0.most: Input should be a valid integer"),
        ('[{"name": "gpu", "device": "tpu"}]', "0.device: Input should be 'cpu' or 'cuda'"),
        ('[{"name": "gpu", "endpoints": "yes"}]', "0.endpoints: Input should be a valid boolean"),
        ('[{"name": "gpu"}, {"name": "gpu"}]', "has two pools of the same name"),
    ],
)
def test_what_describes_no_pools_is_refused_with_the_reason(text, said):
    with pytest.raises(PoolsError, match=f"PLANARENA_KUBERNETES_POOLS .*({said})"):
        pools_from(text)
