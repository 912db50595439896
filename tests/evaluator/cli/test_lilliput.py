from PIL import Image
from typer.testing import CliRunner

from evaluator.cli.lilliput import app
from evaluator.world.scenes import draw_scene
from evaluator.world.seeds import Split


def invoke(*arguments, env=None):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env=env)


def test_a_scene_is_painted_and_named(tmp_path):
    out = tmp_path / "scene.png"
    result = invoke("scene", "--split", "public", "--index", 3, "--out", out, "--degradation", "low_resolution")
    assert result.exit_code == 0
    assert draw_scene(split=Split.PUBLIC, index=3).label in result.output
    assert Image.open(out).size == (16, 16)


def test_the_hidden_split_takes_its_secret_from_the_environment(tmp_path):
    arguments = ("scene", "--split", "hidden", "--index", 0, "--out", tmp_path / "x.png")
    assert invoke(*arguments, env={"PLANARENA_HIDDEN_SEED": ""}).exit_code == 2
    assert invoke(*arguments, env={"PLANARENA_HIDDEN_SEED": "5eed" * 16}).exit_code == 0
    assert invoke(*arguments, env={"PLANARENA_HIDDEN_SEED": "5eed"}).exit_code == 2


def test_mistakes_are_named(tmp_path):
    assert invoke("scene", "--split", "private", "--index", 0, "--out", tmp_path / "x.png").exit_code == 2
