"""Which pending release an article belongs to, and what that release keeps from it until it goes out.

A member carries no time of its own, so neither the clock nor a task of its own can show it before the others.
"""

from __future__ import annotations

from collections.abc import Collection

from django.utils.translation import gettext as _

from articles.exceptions import BelongsToRelease
from articles.models import Article, ReleaseMember
from articles.workflow import HELD_BY_RELEASE, Transition

Action = ReleaseMember.Action


def membership(article: Article) -> ReleaseMember | None:
    """The place of an article in a pending release; None if it is free."""
    return ReleaseMember.objects.holding([article.pk]).select_related("release").first()


def held_transitions(article: Article) -> frozenset[Transition]:
    """The steps that a pending release keeps from the article."""
    member = membership(article)
    return HELD_BY_RELEASE[Action(member.action)] if member else frozenset()


def held(article_ids: Collection[int], action: ReleaseMember.Action) -> set[int]:
    """Those of these articles that a pending release holds for `action`."""
    return set(ReleaseMember.objects.holding(article_ids, action).values_list("article", flat=True))


def refuse_held(transition: Transition, article_ids: Collection[int]) -> None:
    """Raise `BelongsToRelease` if a pending release keeps `step` from one of these articles."""
    actions = [action for action, transitions in HELD_BY_RELEASE.items() if transition in transitions]
    if not actions:
        return
    member = ReleaseMember.objects.holding(article_ids, *actions).select_related("release", "article").first()
    if member is not None:
        raise BelongsToRelease(refusal_of(member))


def refusal_of(member: ReleaseMember) -> str:
    """Why something is not possible with a member of a pending release."""
    text = _("“%(article)s” belongs to the release “%(release)s”; take it out of that first.")
    return text % {"article": member, "release": member.release}
