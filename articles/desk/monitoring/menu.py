"""The menu of a card: what the user may do with it. The services check again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from articles.desk.monitoring.cards import ArticleCard, BoardCard, UpdateCard
from articles.desk.monitoring.filters import Column
from articles.desk.transitions import may_take
from articles.models import Article, ReleaseMember
from articles.permissions import ADD, CHANGE, allows
from articles.publishing import Actor, position_at
from articles.releases import RIGHT
from articles.workflow import TRANSITIONS, Transition, held_for, is_possible

HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class MenuItem:
    """A link, or with `is_post` a button that posts `seen`."""

    label: str | Promise
    icon: str
    address: str
    is_post: bool = False
    seen: str = ""
    is_dangerous: bool = False
    is_new_window: bool = False


def menu(card: BoardCard, *, by: Actor, back: str) -> list[MenuItem]:
    """The items of a card; `back` is where a form returns to."""
    return [*_reading(card, by), *_moving(card, by, back), *_transitions(card, by), *_copying(card, by)]


def _reading(card: BoardCard, by: Actor) -> Iterator[MenuItem]:
    if card.article is None:
        return
    if card.column is Column.REVIEW and may_take(Transition.APPROVE, by):
        yield MenuItem(
            _("Review"), "rate_review", reverse("admin:articles_queuedarticle_change", args=[card.article.pk])
        )
    if card.column is Column.LIVE:
        yield MenuItem(_("View on site"), "open_in_new", card.article.get_absolute_url(), is_new_window=True)
    else:
        preview = reverse("admin:articles_article_preview", args=[card.article.pk])
        yield MenuItem(_("Preview"), "visibility", preview, is_new_window=True)


def _moving(card: BoardCard, by: Actor, back: str) -> Iterator[MenuItem]:
    if card.seen is None or card.at != card.seen or card.seen <= card.now - HOUR or not _may_reschedule(card, by):
        return
    later = reverse("desk_monitoring_later", args=[card.key])
    yield MenuItem(_("+1 hour"), "more_time", later, is_post=True, seen=card.seen.isoformat())
    asked = urlencode({"key": card.key, "back": back})
    yield MenuItem(_("Reschedule…"), "update", f"{reverse('calendar-reschedule')}?{asked}")


def _may_reschedule(card: BoardCard, by: Actor) -> bool:
    if card.article is None:
        return allows(RIGHT, by)
    if isinstance(card, UpdateCard):
        return _may_take(Transition.SCHEDULE_UPDATE, card, by)
    if card.article.is_waiting:
        return card.column is Column.SCHEDULED and _may_take(Transition.SCHEDULE, card, by)
    return card.article.status in Article.Status.unapproved() and allows(CHANGE, by, card.article)


def _transitions(card: BoardCard, by: Actor) -> Iterator[MenuItem]:
    if card.article is None:
        return
    for transition in _offered(card):
        if _may_take(transition, card, by):
            rule = TRANSITIONS[transition]
            label = f"{rule.label}…" if rule.confirmation else rule.label
            address = reverse("desk_monitoring_transition", args=[card.article.pk, transition])
            is_dangerous = rule.is_removal and rule.confirmation is not None
            yield MenuItem(label, rule.icon, address, is_post=True, is_dangerous=is_dangerous)


def _offered(card: BoardCard) -> Iterator[Transition]:
    """Those that make sense in its column."""
    if card.column is Column.DRAFTS:
        yield Transition.SUBMIT
    elif card.column is Column.SCHEDULED:
        if card.at is not None:
            yield Transition.UNSCHEDULE if isinstance(card, ArticleCard) else Transition.UNSCHEDULE_UPDATE
        yield Transition.PUBLISH_NOW if isinstance(card, ArticleCard) else Transition.PUBLISH_UPDATE
    elif card.column is Column.LIVE:
        yield Transition.UNPUBLISH


def _may_take(transition: Transition, card: BoardCard, by: Actor) -> bool:
    """Whether it is possible now, no release rules it out, and the user may perform it."""
    assert card.article is not None  # noqa: S101 (a card of an article)
    if not is_possible(transition, position_at(card.article, card.now)):
        return False
    held = held_for(ReleaseMember.Action(card.held_as)) if card.held_as else ()
    return transition not in held and may_take(transition, by, card.article)


def _copying(card: BoardCard, by: Actor) -> Iterator[MenuItem]:
    if card.article is not None and allows(ADD, by):
        address = reverse("admin:articles_article_duplicate", args=[card.article.pk])
        yield MenuItem(_("Duplicate"), "content_copy", address, is_post=True)
    if card.article is not None and allows("articles.add_articletemplate", by):
        address = f"{reverse('admin:articles_articletemplate_add')}?article={card.article.pk}"
        yield MenuItem(_("Save as template"), "draft", address)
