"""The actions of the article editor: one primary action, its alternatives, and those that take something away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.translation import gettext as _

from articles.desk.editor.sheet import TIME_OF_TRANSITION
from articles.desk.transitions import transition_button
from articles.models import Article
from articles.workflow import TRANSITIONS, Transition

REMOVALS = (Transition.UNPUBLISH, Transition.RETRACT, Transition.DISCARD_UPDATE)
"""Offered in the menu "More", beside "Delete"."""

RANK = (
    Transition.APPROVE,
    Transition.SUBMIT,
    Transition.PUBLISH_UPDATE,
    Transition.SCHEDULE_UPDATE,
    Transition.SCHEDULE,
    Transition.PUBLISH_NOW,
    Transition.REPUBLISH,
    Transition.UNDO_RETRACTION,
)
"""The first of these that is offered is the primary action."""


@dataclass(frozen=True, kw_only=True)
class FormButton:
    """A button of the form: its name in the request, and how it looks."""

    name: str
    label: str
    icon: str
    value: str = "1"
    has_sheet: bool = False  #: it opens the publish sheet, whose button makes the transition
    needs_change: bool = False  #: a script enables it when something is changed


@dataclass(frozen=True, kw_only=True)
class Actions:
    """What the top bar offers, in its order. Without a primary action there is nothing that the user may do."""

    primary: FormButton | None
    save: FormButton | None
    alternatives: Sequence[FormButton]
    removals: Sequence[FormButton]


def actions(article: Article, offered: Sequence[Transition], *, may_save: bool, is_changed: bool = False) -> Actions:
    """Sort what is offered for this article; saving is primary only when nothing else is.

    `is_changed` is whether the form shows something else than what is stored.
    """
    first = next((transition for transition in _ranked(article) if transition in offered), None)
    save = FormButton(name="_continue", label=_("Save"), icon="save") if may_save else None
    others = [transition for transition in offered if transition is not first]
    close = FormButton(name="_save", label=_("Save and close"), icon="save_as")
    return Actions(
        primary=_primary(first, article, is_changed=is_changed) if first else save,
        save=save if first else None,
        alternatives=[
            *(_action(one, article) for one in others if one not in REMOVALS),
            *([close] if may_save else []),
        ],
        removals=[_action(one, article) for one in others if one in REMOVALS],
    )


def _ranked(article: Article) -> Sequence[Transition]:
    """An approved text goes live before its next version is submitted; an update is published once it is approved."""
    pending_update, rank = article.pending_update, list(RANK)
    has_draft = bool(pending_update and pending_update.draft_id)
    if article.status in Article.Status.passed() and not has_draft:
        rank.remove(Transition.SUBMIT)
        rank.append(Transition.SUBMIT)
    if has_draft:
        rank.remove(Transition.SCHEDULE_UPDATE)
    elif pending_update and pending_update.publish_at:
        rank.remove(Transition.PUBLISH_UPDATE)
    return rank


def _primary(transition: Transition, article: Article, *, is_changed: bool) -> FormButton:
    """An approved text is not submitted before it is changed."""
    is_update = article.status in Article.Status.passed() and not (
        article.pending_update and article.pending_update.draft_id
    )
    needs_change = transition is Transition.SUBMIT and is_update and not is_changed
    return replace(_action(transition, article), needs_change=needs_change)


def _action(transition: Transition, article: Article) -> FormButton:
    rule = TRANSITIONS[transition]
    if transition in TIME_OF_TRANSITION and not _time_of(transition, article):
        return FormButton(name="sheet", value=transition, label=f"{rule.label}…", icon=rule.icon, has_sheet=True)
    label = TRANSITIONS[Transition.RESCHEDULE].label if transition is Transition.SCHEDULE else rule.label
    return FormButton(
        name=transition_button(transition),
        label=f"{label}…" if rule.is_confirmed_first else str(label),
        icon=rule.icon,
    )


def _time_of(transition: Transition, article: Article) -> datetime | None:
    """The time that the article or its update has already; it is moved without a sheet."""
    if transition is Transition.SCHEDULE:
        return article.publish_at
    return article.pending_update.publish_at if article.pending_update else None
