"""The API of votes."""

from typing import Any
from uuid import UUID

from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from evaluator.workbench.events import Ending
from evaluator.workbench.running import MOST_FILES
from leaderboard.catalog.models import Suite
from leaderboard.people.authentication import LOGGED_IN, user_of
from leaderboard.people.models import Scope
from leaderboard.planners.models import Planner
from leaderboard.platform.api.examples import CONFLICT, DIGEST, EXAMPLE_SUITE, PLAN, ROW_ID, WHEN, example, example_of
from leaderboard.platform.api.shapes import Input, Output
from leaderboard.platform.api.views import ApiView
from leaderboard.platform.http.addresses import address_of
from leaderboard.votes import services
from leaderboard.votes.models import Choice, Pair
from leaderboard.votes.screening import IN_WORDS
from leaderboard.votes.services import NewPair
from leaderboard.votes.standings import Question, Standings, standings_of
from leaderboard.votes.web.views import export_of, pairs
from leaderboard.workbench import asking
from leaderboard.workbench.asking import GivenFile
from leaderboard.workbench.models import RunState
from leaderboard.workbench.web.api import RunFileInput, decoded

_CHOICES = [("", "No vote on this"), *Choice.choices]


@example({"text": "What is in kitchen.png?"})
class BlindPairInput(Input):
    """A request for two planners, which the site chooses."""

    text = serializers.CharField(max_length=asking.LONGEST_REQUEST, help_text="The request in words.")
    suite = serializers.SlugField(
        required=False, default="", allow_blank=True, max_length=50,
        help_text="The suite whose tools may be called; by default that of the workbench.",
    )  # fmt: skip
    files = serializers.ListField(child=RunFileInput(), required=False, default=list, max_length=MOST_FILES)
    keep = serializers.BooleanField(
        required=False, default=True, help_text="Whether the runs go on even if nobody reads the pair."
    )


@example({"response": "a", "plan": ""})
class VoteInput(Input):
    """A vote; at least one question has an answer."""

    response = serializers.ChoiceField(
        _CHOICES, required=False, default="", help_text="Which response is better; empty: no vote on it."
    )
    plan = serializers.ChoiceField(
        _CHOICES, required=False, default="", help_text="Which plan is better; empty: no vote on it."
    )


@example({"digest": DIGEST, "media_type": "image/png"})
class AnswerOutput(Output):
    """A result, at `/objects/DIGEST`."""

    digest = serializers.CharField()
    media_type = serializers.CharField()


@example({
    "state": "ended", "ending": "made", "text": "I called Image Denoising.", "plan": PLAN,
    "steps": [{"step": "s1", "tool": "Image Denoising", "state": "done"}], "answers": [example_of(AnswerOutput)],
    "planner": None, "run": None,
})  # fmt: skip
class SideOutput(Output):
    """One side of a pair."""

    state = serializers.ChoiceField(choices=RunState.choices, help_text="The last two are final.")
    ending = serializers.ChoiceField(
        choices=[(ending.value, ending.value) for ending in Ending], allow_null=True, help_text="Null: it runs."
    )
    text = serializers.CharField(help_text="The reply.")
    plan = serializers.DictField(help_text="Empty: none so far.")
    steps = serializers.ListField(child=serializers.DictField(), help_text="`step`, `tool` and `state`.")
    answers = AnswerOutput(many=True)
    planner = serializers.CharField(allow_null=True, help_text="Its name; null until the names are shown.")
    run = serializers.UUIDField(allow_null=True, help_text="Its run; null until the names are shown.")


@example({"response": "a", "plan": "", "changed": WHEN})
class VoteOutput(Output):
    """A vote."""

    response = serializers.CharField()
    plan = serializers.CharField()
    changed = serializers.DateTimeField()


@example({
    "id": ROW_ID, "text": "What is in kitchen.png?", "suite": EXAMPLE_SUITE, "created": WHEN,
    "page": f"/workbench/pairs/{ROW_ID}/", "why_not": "", "sides": [example_of(SideOutput)] * 2, "vote": None,
    "named_at": None,
})  # fmt: skip
class BlindPairOutput(Output):
    """A pair as it is now."""

    id = serializers.UUIDField()
    text = serializers.CharField(help_text="The request; empty once its runs were deleted.")
    suite = serializers.CharField()
    created = serializers.DateTimeField()
    page = serializers.CharField(help_text="Address of its page.")
    why_not = serializers.CharField(help_text="Why nobody can vote on it yet, as a sentence; empty: its owner can.")
    sides = SideOutput(many=True, help_text="A and B; none once the runs were deleted.")
    vote = VoteOutput(allow_null=True, help_text="Its owner's; null: none.")
    named_at = serializers.DateTimeField(allow_null=True, help_text="When the names were shown; null: not yet.")

    def to_representation(self, instance: Pair) -> dict[str, Any]:
        is_named = instance.named_at is not None
        ends = zip((instance.a, instance.b), (instance.run_a, instance.run_b), strict=True)
        sides = [
            {
                "state": run.state, "ending": side.ending, "text": side.text, "plan": side.plan, "steps": side.steps,
                "answers": side.answers, "planner": contestant.name if is_named else None,
                "run": run.pk if is_named else None,
            }
            for side, (contestant, run) in zip(services.sides_of(instance) or (), ends, strict=False)
            if run is not None
        ]  # fmt: skip
        return super().to_representation({
            "id": instance.pk, "text": "" if instance.run_a is None else instance.run_a.text, "suite": instance.suite,
            "created": instance.created, "page": reverse("votes:pair", kwargs={"pair_id": instance.pk}),
            "why_not": services.why_not_votable(instance), "sides": sides, "vote": instance.votes.first(),
            "named_at": instance.named_at,
        })  # fmt: skip


def _output(request: Request, *, pair_id: UUID) -> dict[str, Any]:
    pair = get_object_or_404(pairs(), pk=pair_id)
    services.note_readers(pair)
    if pair.owner_id == request.user.pk:
        services.note_shown(pair)
    return dict(BlindPairOutput(pair).data)


def _own(request: Request, *, pair_id: UUID) -> UUID:
    if not Pair.objects.filter(pk=pair_id, owner=user_of(request)).exists():
        raise NotFound("You have no such pair.")
    return pair_id


class PairsView(ApiView):
    """Requests to two planners."""

    permission_classes = LOGGED_IN
    scope = Scope.SUBMIT
    bodies = {"POST": BlindPairInput}

    @extend_schema(responses={202: BlindPairOutput})
    def post(self, request: Request) -> Response:
        """Ask two planners that the site chooses the same request. Both runs count towards the limits of the workbench.
        Names are unknown until you have voted. `Location` has the address of the pair."""
        body = self.read(request)
        files = [GivenFile(name=file["name"], data=decoded(file)) for file in body["files"]]
        new = NewPair(text=body["text"], suite=body["suite"], files=files, keep=body["keep"])
        pair = services.start(new, user=user_of(request))
        address = reverse("api:pair", kwargs={"pair_id": pair.pk})
        shown = _output(request, pair_id=pair.pk)
        return Response(shown, status=status.HTTP_202_ACCEPTED, headers={"Location": address})


class PairView(ApiView):
    """One pair, for everybody who knows its id."""

    @extend_schema(responses=BlindPairOutput)
    def get(self, request: Request, pair_id: UUID) -> Response:
        """Poll it until both runs have ended. Reading both results is needed before a vote."""
        return Response(_output(request, pair_id=pair_id))


class VoteView(ApiView):
    """The owner's vote on a pair."""

    permission_classes = LOGGED_IN
    scope = Scope.SUBMIT
    bodies = {"PUT": VoteInput}

    @extend_schema(responses={200: BlindPairOutput, 409: CONFLICT})
    def put(self, request: Request, pair_id: UUID) -> Response:
        """Vote, or change the vote. It can be changed until the names are shown: when you ask for them, or after an
        hour."""
        body = self.read(request)
        services.cast(
            pair_id=_own(request, pair_id=pair_id), user=user_of(request), response=body["response"],
            plan=body["plan"], address=address_of(request),
        )  # fmt: skip
        return Response(_output(request, pair_id=pair_id))

    @extend_schema(responses={204: OpenApiResponse(description="Deleted.")})
    def delete(self, request: Request, pair_id: UUID) -> Response:
        """Delete the vote, whether or not the names were shown."""
        if not services.withdraw(pair_id=_own(request, pair_id=pair_id), user=user_of(request)):
            raise NotFound("You have not voted on this pair.")
        return Response(status=status.HTTP_204_NO_CONTENT)


class NamesView(ApiView):
    """The names of a pair."""

    permission_classes = LOGGED_IN
    scope = Scope.SUBMIT

    @extend_schema(request=None, responses={200: BlindPairOutput, 409: CONFLICT})
    def post(self, request: Request, pair_id: UUID) -> Response:
        """Show the names, after which the vote counts and can no longer be changed."""
        services.show_names(pair_id=_own(request, pair_id=pair_id), user=user_of(request))
        return Response(_output(request, pair_id=pair_id))


_SHARE = {"mean": 0.62, "low": 0.51, "high": 0.72}


@example({
    "planner": "controlllm/adaptive", "group": 1, "rank_low": 1, "rank_high": 2, "strength": 0.49, "share": _SHARE,
    "votes": 212, "voters": 31,
})  # fmt: skip
class RatedOutput(Output):
    """A planner of the table."""

    planner = serializers.CharField()
    group = serializers.IntegerField(help_text="Planners of different groups were never compared, even through others.")
    rank_low = serializers.IntegerField(allow_null=True, help_text="Best rank in the group that tests leave open.")
    rank_high = serializers.IntegerField(allow_null=True, help_text="The worst; null, like the best: too few voters.")
    strength = serializers.FloatField(help_text="Log-odds against a planner of the group's mean strength.")
    share = serializers.DictField(
        child=serializers.FloatField(allow_null=True),
        help_text="Expected share of wins against such a planner, with its 95 % interval; null for too few voters.",
    )
    votes = serializers.IntegerField()
    voters = serializers.IntegerField()


@example({
    "suite": EXAMPLE_SUITE, "question": "response", "votes": 640, "voters": 45, "excluded": {"too_fast": 12},
    "rows": [example_of(RatedOutput)],
    "agreement": {"mean": 0.71, "low": 0.63, "high": 0.78, "votes": 480, "voters": 40},
})  # fmt: skip
class StandingsOutput(Output):
    """The table of one suite and question."""

    suite = serializers.CharField()
    question = serializers.CharField()
    votes = serializers.IntegerField(help_text="Number of votes that count.")
    voters = serializers.IntegerField(help_text="Number of people who cast them.")
    excluded = serializers.DictField(
        child=serializers.IntegerField(),
        help_text=f"Number of votes that do not count, by reason: {', '.join(map(str, IN_WORDS))}.",
    )
    rows = RatedOutput(many=True)
    agreement = serializers.DictField(
        child=serializers.FloatField(allow_null=True), allow_null=True,
        help_text="Share of decided votes that the planner with the better measured score won; null: no such vote.",
    )  # fmt: skip


def _standings(standings: Standings, *, suite: str, question: Question) -> dict[str, Any]:
    share = standings.agreement
    return {
        "suite": suite, "question": question, "votes": len(standings.comparisons), "voters": standings.voters,
        "excluded": {str(reason): count for reason, count in standings.excluded.items()},
        "rows": [
            {
                "planner": standings.names[row.planner], "group": number, "strength": row.strength,
                "rank_low": row.ranks and row.ranks.low, "rank_high": row.ranks and row.ranks.high,
                "share": {"mean": row.share.mean, "low": row.share.low, "high": row.share.high},
                "votes": row.votes, "voters": row.voters,
            }
            for number, group in enumerate(standings.groups, start=1)
            for row in group
        ],
        "agreement": share and {
            "mean": share.mean, "low": share.low, "high": share.high, "votes": standings.agreement_votes,
            "voters": share.count,
        },
    }  # fmt: skip


class StandingsView(ApiView):
    """The table of votes on a suite."""

    parameters = [
        OpenApiParameter(
            "question", str, enum=list(Question), description="What the votes are on: `response` by default."
        )
    ]

    @extend_schema(responses=StandingsOutput)
    def get(self, request: Request, slug: str) -> Response:
        """Strengths of planners by blind votes. They are not scores, and no board contains them."""
        suite = get_object_or_404(Suite, slug=slug, current=True)
        asked = request.query_params.get("question", Question.RESPONSE)
        if asked not in set(Question):
            raise ValidationError({"question": [f"Choose one of {', '.join(Question)}."]})
        question = Question(asked)
        standings = standings_of(suite=suite, question=question)
        return Response(StandingsOutput(_standings(standings, suite=slug, question=question)).data)


class VotesExportView(ApiView):
    """All votes on a suite."""

    # The schema describes no streams.
    @extend_schema(exclude=True)
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """A line of JSON for each vote whose names were shown: planners, choices, day, why it does not count, and a
        pseudonym of the voter that holds within this file only."""
        return export_of(request._request, slug=slug)


@example({"planner": 12, "takes_part": False})
class TakesPartOutput(Output):
    """Whether a planner takes part in votes."""

    planner = serializers.IntegerField()
    takes_part = serializers.BooleanField()


@example({"takes_part": False})
class TakesPartInput(Input):
    """The owner's decision."""

    takes_part = serializers.BooleanField(
        help_text="False: it is not compared any more, and earlier votes on it do not count."
    )


class OptOutView(ApiView):
    """Whether one's planner takes part in votes."""

    permission_classes = LOGGED_IN
    scope = Scope.SUBMIT
    bodies = {"PUT": TakesPartInput}

    @extend_schema(responses=TakesPartOutput)
    def put(self, request: Request, planner_id: int) -> Response:
        """Take one's planner out of votes, or let it take part again."""
        body = self.read(request)
        planner = Planner.objects.filter(pk=planner_id, owner=user_of(request), bundled_name="").first()
        if planner is None:
            raise NotFound("You have no such planner.")
        contestant = services.set_opted_out(planner=planner, opted_out=not body["takes_part"])
        shown = {"planner": planner.pk, "takes_part": contestant.opted_out_at is None}
        return Response(TakesPartOutput(shown).data)
