"""No manifest is refused for what its schema does not say."""

from tests.k8s.chart import GPU, PRODUCTION, merged, of_every_variant, render
from tests.k8s.semantics import problems


@of_every_variant
def test_no_manifest_is_refused_for_more_than_its_types(manifests):
    for item in manifests:
        assert list(problems(item)) == [], item["metadata"]["name"]


def test_the_longest_name_of_a_pool_fits_everywhere():
    name = "a" * 20
    for item in render(merged(PRODUCTION, {"pools": [GPU | {"name": name, "modelServer": {"kind": "pod"}}]})):
        assert list(problems(item)) == [], item["metadata"]["name"]
        assert len(item["metadata"]["name"]) <= 63 - len("-5d8f7c9b6d-abcde"), "names of pods are longer"
