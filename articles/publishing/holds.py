"""Membership in pending releases, and the transitions that it rules out.

A member has no time of its own, so neither the clock nor a task can show it before the others.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from articles.exceptions import BelongsToRelease
from articles.models import Article, ReleaseMember
from articles.workflow import TRANSITIONS, Transition, held_for

Action = ReleaseMember.Action


@dataclass(frozen=True, slots=True)
class Hold:
    """The pending release that an article belongs to."""

    release_id: int
    action: ReleaseMember.Action
    due_at: datetime | None  #: None unless it is scheduled


def membership(article: Article) -> ReleaseMember | None:
    """The membership of an article in a pending release; None without one."""
    return ReleaseMember.objects.holding([article.pk]).select_related("release").first()


def held_transitions(article: Article) -> frozenset[Transition]:
    """The transitions that a pending release rules out for the article."""
    member = membership(article)
    return held_for(Action(member.action)) if member else frozenset()


def held(article_ids: Collection[int], action: ReleaseMember.Action) -> set[int]:
    """Those of these articles that are members of a pending release with this action."""
    return set(ReleaseMember.objects.holding(article_ids, action).values_list("article", flat=True))


def refuse_held(transition: Transition, article_ids: Collection[int]) -> None:
    """Raise `BelongsToRelease` if a pending release rules out `transition` for one of these articles."""
    action = TRANSITIONS[transition].held_for
    if action is None:
        return
    member = ReleaseMember.objects.holding(article_ids, action).select_related("release", "article").first()
    if member is not None:
        raise BelongsToRelease(refusal_of(member))


def refusal_of(member: ReleaseMember) -> str:
    """The error about a member of a pending release."""
    text = _("“%(article)s” belongs to the release “%(release)s”; remove it from the release first.")
    return text % {"article": member, "release": member.release}
