"""A request of `planner/1` to perturb."""

from evaluator.core.planner import PlannerRequest


def request(*, text="Given a noisy photo, restore its colours.", resources=None, tools=None) -> PlannerRequest:
    return PlannerRequest.model_validate({
        "suite": "toolmini",
        "task": {"id": "image_editing/0", "request": text,
                 "resources": {"image": "image"} if resources is None else resources},
        "expects": {"type": "image"},
        "tools": tools or [
            {"name": "Image Denoising", "description": "Removes the noise of a picture.",
             "inputs": {"image": "image"}, "outputs": {"image": "image"}},
            {"name": "colorize", "description": "Gives a grey picture its colours.",
             "inputs": {"image": "image"}, "outputs": {"image": "image"}},
            {"name": "Visual_QA", "description": "Answers a question about a picture.",
             "inputs": {"image": "image", "question": "text"}, "outputs": {"text": "text"}},
        ],
    })  # fmt: skip
