"""The review stages: choosing them, and the articles that wait at each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from articles.audit import Action, Actor, record_beside
from articles.exceptions import WrongState
from articles.models import ReviewStage, approved_by, stage_under_review
from articles.permissions import REVIEW, require
from articles.review.automatic_approval import PERMISSION, lock_policy
from scheduling.database import retried

Kind = ReviewStage.Kind


@dataclass(frozen=True)
class StageChoice:
    """A stage as it is chosen: its kind, its own name and the group that decides at it (None: all reviewers)."""

    kind: str
    name: str = ""
    group: Group | None = None


def reviewing_groups() -> QuerySet[Group]:
    """The groups whose members may approve."""
    app, _dot, codename = REVIEW.partition(".")
    found = Group.objects.filter(permissions__content_type__app_label=app, permissions__codename=codename)
    return found.distinct().order_by("name")


@retried
def choose_stages(stages: Sequence[StageChoice], *, by: Actor) -> None:
    """Replace the review stages by these, in this order. Raises `NotAllowed`, and `WrongState` for invalid ones.

    The approval of no text changes: one that waits at a removed stage waits at the next that has not approved it, or at
    the last one.
    """
    require(PERMISSION, by)
    check_stages(stages)
    lock_policy()
    before = _described(ReviewStage.in_order())
    ReviewStage.objects.exclude(kind__in=[stage.kind for stage in stages]).delete()
    for position, stage in enumerate(stages, start=1):
        values = {"position": position, "name": stage.name.strip(), "group": stage.group}
        ReviewStage.objects.update_or_create(kind=stage.kind, defaults=values)
    if (after := _described(ReviewStage.in_order())) != before:
        record_beside(Action.CHANGE_REVIEW_STAGES, title="", by=by, stages=[before, after])


def check_stages(stages: Sequence[StageChoice]) -> None:
    """Raise `WrongState`, saying what to change, if these cannot be the review stages."""
    kinds = [stage.kind for stage in stages]
    if not {*kinds} <= {*Kind.values}:
        raise WrongState
    if not {*kinds} - {Kind.PROOFREADING}:
        raise WrongState(_("Choose at least one review; proofreading alone is not enough."))
    if len({*kinds}) < len(kinds):
        raise WrongState(_("Choose each stage once."))
    allowed = {*reviewing_groups().values_list("pk", flat=True)}
    for stage in stages:
        if stage.group and stage.group.pk not in allowed:
            raise WrongState(
                _("“%(group)s” may not approve articles. Give the group this permission first.")
                % {"group": stage.group}
            )


def with_stage(articles: QuerySet[Any], stages: Sequence[ReviewStage]) -> QuerySet[Any]:
    """Articles in review, with the kind of the stage that each waits at as `review_stage`."""
    annotated: QuerySet[Any] = articles.annotate(review_stage=stage_under_review(stages))
    return annotated


def at_own_stage(articles: QuerySet[Any], by: Actor) -> QuerySet[Any]:
    """Those articles in review that wait at a stage of this user, who has not approved them at another."""
    return each_at_own_stage([articles], by)[0]


def each_at_own_stage(lists: Sequence[QuerySet[Any]], by: Actor) -> Sequence[QuerySet[Any]]:
    """The same of several lists, with the queries for one."""
    stages = ReviewStage.in_order()
    own = stages_of(by, stages)
    if len(own) == len(stages) == 1:
        return lists
    kinds = [stage.kind for stage in own]
    return [
        with_stage(articles, stages).filter(review_stage__in=kinds).exclude(approved_by(by.pk)) for articles in lists
    ]


def stages_of(by: Actor, stages: Sequence[ReviewStage]) -> list[ReviewStage]:
    """The stages at which this user may decide."""
    groups = {*by.groups.values_list("pk", flat=True)}  # type: ignore[union-attr]
    return [stage for stage in stages if stage.group_id is None or stage.group_id in groups]


def _described(stages: Sequence[ReviewStage]) -> list[list[str]]:
    """Kind, name and group of each, as the audit log stores them."""
    return [[stage.kind, stage.name, stage.group.name if stage.group else ""] for stage in stages]
