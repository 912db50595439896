def test_restormer_uses_the_released_parameter_names():
    from evaluator.execution.experts.restormer import Restormer, RestormerConfig

    names = set(Restormer(RestormerConfig(dim=8, num_blocks=(1, 1, 1, 1), num_refinement_blocks=1)).state_dict())
    block = "encoder_level2.0"
    expected = {
        "patch_embed.proj.weight", f"{block}.norm1.body.weight", f"{block}.norm1.body.bias",
        f"{block}.attn.temperature", f"{block}.attn.qkv.weight", f"{block}.attn.qkv_dwconv.weight",
        f"{block}.attn.project_out.weight", f"{block}.ffn.project_in.weight", f"{block}.ffn.dwconv.weight",
        f"{block}.ffn.project_out.weight", "down1_2.body.0.weight", "up4_3.body.0.weight",
        "reduce_chan_level3.weight", "latent.0.attn.qkv.weight", "decoder_level1.0.ffn.project_out.weight",
        "refinement.0.norm2.body.bias", "output.weight",
    }  # fmt: skip
    assert expected <= names


def test_the_papers_colorizer_uses_the_released_names_and_sizes():
    import torch

    from evaluator.execution.experts.colorizer import Colorizer, ColorizerConfig

    with torch.device("meta"):
        state = Colorizer(ColorizerConfig()).state_dict()
    expected = {
        "model1.0.weight": (64, 4, 3, 3),
        "model1.4.running_mean": (64,),
        "model4.4.weight": (512, 512, 3, 3),
        "model8up.0.weight": (512, 256, 4, 4),
        "model3short8.0.weight": (256, 256, 3, 3),
        "model8.1.weight": (256, 256, 3, 3),
        "model9.3.weight": (128,),
        "model10up.0.weight": (128, 128, 4, 4),
        "model1short10.0.weight": (128, 64, 3, 3),
        "model_out.0.weight": (2, 128, 1, 1),
    }
    assert {name: tuple(state[name].shape) for name in expected} == expected


def test_lab_has_the_tabulated_primaries_and_is_invertible():
    """CIE Lab (D65) of sRGB red, green, blue and white."""
    import torch

    from evaluator.execution.experts.colorizer import lab_to_rgb, rgb_to_lab

    colours = torch.tensor([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [1.0, 1.0, 1.0]])[:, :, None, None]
    expected = torch.tensor([[53.24, 80.09, 67.20], [87.73, -86.18, 83.18], [32.30, 79.19, -107.86], [100.0, 0, 0]])
    assert torch.allclose(rgb_to_lab(colours)[:, :, 0, 0], expected, atol=0.05)
    rgb = torch.rand(2, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(lab_to_rgb(rgb_to_lab(rgb)), rgb, atol=1e-3)
