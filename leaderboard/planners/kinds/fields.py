"""The fields of the submit form for planners that are a strategy with a language model."""

from typing import Any

from django import forms

from leaderboard.accounts.models import User
from leaderboard.planners import checkpoints
from leaderboard.planners.kinds.hub import DEFAULT_REVISION
from leaderboard.planners.local_models import chat_strategies, model_strategies
from leaderboard.planners.models import CheckpointUpload, PlannerKind
from leaderboard.planners.uploading import ReceivedFile
from leaderboard.site.field_errors import FieldErrors


def _strategy_label(name: str) -> str:
    suites = model_strategies()[name].suites
    of_suites = f", for {', '.join(suites)} only" if suites else ""
    return f"{name}{of_suites}" + ("" if name in chat_strategies() else ", not with a chat endpoint")


class ModelFields(forms.Form):
    """A mixin of the submit form. Its view calls `offer_checkpoints`, and `keep_checkpoint` when something was sent."""

    model_id = forms.CharField(
        label="Model",
        help_text="For Hugging Face, ORG/NAME of a public model with safetensors. For a chat endpoint, the model name "
        "in requests; visible to everyone who sees the planner.",
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "org/name", "autocapitalize": "none", "spellcheck": "false"}),
    )
    revision = forms.CharField(
        label="Revision",
        help_text="A branch, tag or commit. The evaluation uses its current commit, even if the branch later moves.",
        required=False,
        widget=forms.TextInput(attrs={"placeholder": DEFAULT_REVISION, "autocapitalize": "none"}),
    )
    checkpoint_file = forms.FileField(
        label="Checkpoint",
        help_text="A zip of config.json, the tokenizer's files and model*.safetensors. Only workers download it.",
        required=False,
        widget=forms.FileInput(attrs={"accept": ".zip,application/zip"}),
    )
    checkpoint_digest = forms.CharField(label="Or an uploaded checkpoint", required=False, widget=forms.Select)
    strategy = forms.ChoiceField(
        label="Strategy",
        help_text="Prompts the language model and builds a plan from its answers.",
        choices=[(name, _strategy_label(name)) for name in model_strategies()],
        required=False,
    )

    def offer_checkpoints(self, owner: User) -> None:
        """Let the owner choose among what they uploaded."""
        uploads = [(upload.digest, _upload_label(upload)) for upload in checkpoints.uploads_of(owner)]
        self.fields["checkpoint_digest"].widget.choices = [("", "None of these"), *uploads]

    @property
    def has_checkpoints(self) -> bool:
        """Whether there is one to choose."""
        return len(self.fields["checkpoint_digest"].widget.choices) > 1

    def keep_checkpoint(self, owner: User) -> None:
        """Keep a checkpoint that was sent with the form, whatever else is wrong with it: it need not be sent again."""
        file = self.files.get("checkpoint_file")
        if file is None or self.data.get("kind") != PlannerKind.CHECKPOINT:
            return
        assert isinstance(file, ReceivedFile)
        problems: dict[str, list[str]] = {}
        try:
            digest = checkpoints.keep_upload(owner=owner, file=file).digest
        except checkpoints.TooLargeError as error:
            problems = {checkpoints.FIELD: [str(error)]}
        except FieldErrors as error:
            problems = error.errors
        else:
            self.data: Any = self.data.copy()
            self.data["checkpoint_digest"] = digest
        for text in (text for texts in problems.values() for text in texts):
            # Asking for the errors makes Django look for its own first, which would take this one away.
            assert self.errors is not None
            self.add_error("checkpoint_file", text)


def _upload_label(upload: CheckpointUpload) -> str:
    size = upload.bytes / 1024**2
    return f"{upload.architecture}, {size:,.1f} MB, uploaded {upload.created:%Y-%m-%d %H:%M}, {upload.digest[:12]}"
