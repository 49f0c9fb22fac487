"""Applying what the form of an article sent: edits, update time and transitions, in one transaction and one order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from articles.audit import Actor
from articles.models import Article
from articles.publishing.autosave import drop_autosave, submit_form
from articles.publishing.consequences import refuse_unconfirmed
from articles.publishing.edits import create, edit
from articles.publishing.revisions import for_review
from articles.publishing.submissions import require_newest
from articles.publishing.transitions import perform
from articles.publishing.updates import schedule_update, unschedule_update
from articles.workflow import TRANSITIONS, Input, Subject, Transition


@dataclass(frozen=True, kw_only=True)
class SentForm:
    """What the form of an article sent, valid in itself."""

    window: UUID
    digest: str  #: of all that was sent, by which a form that was sent twice is recognised
    transitions: Sequence[Transition]  #: whose buttons were pressed
    values: Mapping[str, Any]  #: of all fields
    changes: Mapping[str, Any]  #: the fields of the article that are edited, with their new values
    changed: Collection[str]  #: the names of all fields that differ from those shown
    sets_update_time: bool
    seen: datetime | None  #: the version that the form is based on
    answers: Mapping[str, Any]  #: further input of transitions
    written_by: Collection[int] = ()  #: writers of a new article's text besides the user


def apply_form(article: Article, sent: SentForm, *, by: Actor, confirmed: bool) -> None:
    """Do what the form of a new or stored article asks for, in one transaction.

    1. Create or edit it; a reviewer approves only the newest revision.
    2. Set or remove the time of its update.
    3. Perform the transitions.
    4. Discard the autosave of the window.
    5. Unless `confirmed`, raise `Unconfirmed` if readers notice it at once, which rolls everything back.

    The question comes last, so that it is asked only about a change that is possible. Raises what these verbs raise,
    and `FormSubmitted` if the window has created an article already.
    """
    before = Article.objects.select_related("update").filter(pk=article.pk).first()
    with transaction.atomic(savepoint=False):
        if article._state.adding:
            _create(article, sent, by)
        else:
            _edit(article, sent, by)
        if sent.sets_update_time and Transition.SCHEDULE_UPDATE not in sent.transitions:
            _set_update_time(article, sent.values["update_at"], by)
        for transition_asked in sent.transitions:
            perform(transition_asked, article, by=by, **_given(transition_asked, article, sent))
        drop_autosave(sent.window, by=by)
        if not confirmed:
            refuse_unconfirmed(article, before, transitions=sent.transitions, changed=sent.changed)


def _create(article: Article, sent: SentForm, by: Actor) -> None:
    article.author_id = article.author_id or by.pk
    submitted = submit_form(sent.window, by=by, digest=sent.digest)
    create(article, by=by, tags=sent.values["tags"], written_by=sent.written_by)
    submitted.article = article
    submitted.save(update_fields=["article"])


def _edit(article: Article, sent: SentForm, by: Actor) -> None:
    if Transition.APPROVE in sent.transitions:
        require_newest(article, sent.values.get("base"))
    changes = dict(sent.changes)
    if Transition.SCHEDULE in sent.transitions:
        changes.pop("publish_at", None)  # the transition sets it
    edit(
        article,
        by=by,
        changes=changes,
        seen=None if _overwrites_nothing(sent) else sent.seen,
        note=sent.values["note"],
        correction=sent.values["correction"],
    )


def _overwrites_nothing(sent: SentForm) -> bool:
    """Whether nothing is edited and readers see nothing that the user has not seen; also of a form sent again."""
    if sent.changes:
        return False
    if sent.transitions:
        return all(TRANSITIONS[transition].is_removal for transition in sent.transitions)
    return not sent.values["correction"] and not sent.sets_update_time


def _set_update_time(article: Article, moment: datetime | None, by: Actor) -> None:
    if moment is None:
        unschedule_update(article, by=by)
    else:
        schedule_update(article, publish_at=moment, by=by, at_once=False)


def _given(transition: Transition, article: Article, sent: SentForm) -> dict[str, Any]:
    """The input of a transition, from the fields of the form."""
    rule = TRANSITIONS[transition]
    time = sent.values.get("publish_at" if rule.subject is Subject.ARTICLE else "update_at")
    given: dict[str, Any] = {"publish_at": time, "at_once": False, **sent.answers}
    return {**given, "revision": for_review(article).number} if rule.input is Input.REVISION else given
