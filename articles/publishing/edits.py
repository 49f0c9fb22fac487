"""Editing articles, with an optimistic lock against overwriting other users' changes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any

from django.utils.timezone import is_naive
from django.utils.translation import gettext as _

from articles.audit import (
    ANNOTATING,
    FIRST_STAGE_AGAIN,
    WENT_LIVE_OVER,
    Action,
    Actor,
    Notes,
    StateSnapshot,
    record,
    recorded,
    writers,
)
from articles.exceptions import EditConflict, NotEditable, RevisionGone, TooLong, WrongCover, WrongState
from articles.images import check_images
from articles.models import (
    LINES,
    Article,
    AuditEntry,
    CoverMode,
    Revision,
    StageApproval,
    Tag,
    Text,
    Update,
)
from articles.permissions import EDIT_ANY, require, require_edit
from articles.publishing.assignments import ASSIGNMENT, assign, check_assignment, record_assignment
from articles.publishing.by_clock import end_before_next_change
from articles.publishing.dating import dated_by_commit
from articles.publishing.foreign_media import refuse_foreign_media
from articles.publishing.holds import refuse_held
from articles.publishing.resolve import tags_named
from articles.publishing.revisions import newest, pinned, put_into_columns, renumber
from articles.publishing.schedules import refuse_empty_span, refuse_past_times
from articles.publishing.store import TIMES, checked_time, store_article, store_update
from articles.publishing.submissions import review_text_again
from articles.publishing.transitions import Settled, lock, position_at, refuse_impossible, settle
from articles.review import needs_second_person, propose
from articles.text import one_line, oversize
from articles.workflow import TRANSITIONS, Transition
from scheduling.database import read_database_clock, retried

EDITABLE = TIMES | Text.NAMES | ASSIGNMENT | {"author"}
IN_REVIEW = Article.Status.in_review()


@retried
def create(
    article: Article,
    *,
    by: Actor,
    tags: Collection[Tag] = (),
    written_by: Collection[int] = (),
    copy_of: int | None = None,
) -> None:
    """Store a new draft and its first revision.

    `written_by` are the writers of its text besides `by`, and `copy_of` is the id of the article it is a copy of.
    Raises `NotAllowed`, `TooLong`, `InvalidSchedule`, `WithoutAccess`, and what `check_images` raises.
    """
    require("articles.add_article", by)
    if article.author_id not in (None, by.pk):
        require(EDIT_ANY, by)
    if article.embargo_until is not None:
        require(TRANSITIONS[Transition.SET_EMBARGO].permission, by)
    for name in LINES:
        setattr(article, name, one_line(getattr(article, name)))
    _refuse_form({"body": article.body, "cover_mode": article.cover_mode})
    refuse_empty_span(article)
    refuse_past_times({name: getattr(article, name) for name in TIMES}, read_database_clock())
    check_assignment(article)
    article.pk, article._state.adding = None, True  # also after a transaction that stored it was rolled back
    store_article(article)
    article.tags.set(tags)
    text = Text.of(article)
    refuse_foreign_media(text)
    check_images(text)
    article.holds(Revision.objects.add(article, text, author=by))
    details = {"written_by": sorted(written_by), "copy_of": copy_of}
    given: dict[str, Any] = {name: value for name, value in details.items() if value}
    record(Action.CREATE, article=article, by=by, before=StateSnapshot(), revision=article.revision, **given)
    record_assignment(article, by=by)


def edit(
    article: Article,
    *,
    by: Actor,
    changes: Mapping[str, Any],
    seen: datetime | None = None,
    note: str = "",
    correction: str = "",
    written_by: Collection[int] = (),
) -> None:
    """Write `changes` (field name to value) to an article; its status cannot be among them.

    Changed text is a new revision, with a `note` for the newsroom and a `correction` for readers; `written_by` are its
    writers besides `by`. If the article's text was approved already, the new one is the draft of an update.
    Another author of an approved article is proposed, under the two-person rule.
    `seen` is the `changed_at` the editor started from. Raises `EditConflict` unless the article `is_as_seen` then; the
    rejected text is stored as a revision, unless the caller's own transaction rolls that back. Raises
    `NotAllowed` if `by` may not change it (or, once it is approved, its times or author; or its embargo),
    `NotEditable` for other fields, `TooLong`, `InvalidSchedule` for contradictory times, `TimePast` for new ones in the
    past, `WrongState` for a new time or embargo of a live article, `BelongsToRelease` for a new time of a member,
    `WithoutAccess` for an owner who may not see articles, and what `check_images` raises.
    """
    if unknown := changes.keys() - EDITABLE:
        raise NotEditable(_("Not editable: %(names)s") % {"names": _(", ").join(sorted(unknown))})
    _refuse_form(changes)
    if not _edit(article, changes, by, seen, note=note, correction=correction, written_by=written_by):
        raise EditConflict(changes)


@retried
def _edit(
    article: Article,
    changes: Mapping[str, Any],
    by: Actor,
    seen: datetime | None,
    *,
    note: str,
    correction: str,
    written_by: Collection[int],
) -> bool:
    """As `edit`; False on a conflict, whose text is stored as a revision: an error would roll that back."""
    lock(article)
    found = settle(article)
    require_edit(article, by, {**changes, "correction": correction} if correction else changes)
    if seen is not None and not is_as_seen(article, seen):
        _store_rejected(article, changes, by)
        return False
    assign(article, changes, by=by)
    others = {name: value for name, value in changes.items() if name not in ASSIGNMENT}
    if "author" in others and needs_second_person() and article.status not in Article.Status.unapproved():
        author = others.pop("author")
        if (author_id := author and author.pk) != article.author_id:
            propose(article, {"author_id": author_id}, name=article.title, by=by)
    if others or correction:
        _write(article, others, by, found, note=note, correction=correction, written_by=written_by)
    return True


def write_author(article: Article, author_id: int | None, *, by: Actor) -> None:
    """Give a locked article another author, which `by` has approved."""
    with recorded(Action.EDIT, article, by=by) as notes:
        notes.details |= {"changed": ["author"], "author": [article.author_id, author_id]}
        article.author_id = author_id
        store_article(article)
        renumber(article)


def is_as_seen(article: Article, seen: datetime) -> bool:
    """Whether the newsroom has not changed the article since it was changed at `seen`.

    An approved update that went live at its time is no such change: editors have had its text in their forms.
    """
    if article.changed_at == seen:
        return True
    last = (
        AuditEntry.objects.of(article).exclude(action__in=(*ANNOTATING, Action.PUBLISHED, Action.UNPUBLISHED)).first()
    )
    if last is None or last.action != Action.UPDATED or last.user_id is not None or last.revision != article.revision:
        return False
    return _moment(last.details.get(WENT_LIVE_OVER)) == seen


def _moment(stored: str | None) -> datetime | None:
    """A time as an audit entry has it; one that a database wrote is in UTC and does not say so."""
    moment = datetime.fromisoformat(stored) if stored else None
    return moment.replace(tzinfo=UTC) if moment and is_naive(moment) else moment


@retried
def store_rejected_edit(article_id: int, *, by: Actor, changes: Mapping[str, Any]) -> None:
    """Store the text of a conflicting edit as a revision of its own; once, however often it is sent."""
    article = Article(pk=article_id)
    lock(article)
    require_edit(article, by, changes)
    _store_rejected(article, changes, by)


def restore_revision(article: Article, *, number: int, by: Actor) -> None:
    """Make the text of an older revision the newest, which needs approval as any other.

    Raises `RevisionGone` and what `edit` raises.
    """
    revision = article.revisions.filter(number=number).first()
    if revision is None:
        raise RevisionGone
    changes = {name: getattr(revision, name) for name in Text.NAMES - {"tags"}}
    changes["tags"] = list(tags_named(revision.tags).values())
    if not revision.byline and AuditEntry.objects.of(article).filter(action=Action.KEEP_BYLINE).exists():
        del changes["byline"]  # it keeps the name of an author whose account was deleted since
    note = _("Restored from revision %d") % number
    edit(article, by=by, changes=changes, note=note, written_by=writers(article, revision))


def apply_import(article: Article, *, changes: Mapping[str, Any], note: str) -> None:
    """Write imported text to a locked article, without an author; a retracted article is not changed."""
    if article.status == Article.Status.RETRACTED:
        return
    _write_text(article, newest(article).text, changes, None, Notes(details={"changed": []}), note=note, correction="")
    store_article(article)


def _write(
    article: Article,
    changes: Mapping[str, Any],
    by: Actor,
    found: Settled,
    *,
    note: str,
    correction: str,
    written_by: Collection[int],
) -> None:
    text = {name: value for name, value in changes.items() if name in Text.NAMES}
    others = {name: value for name, value in changes.items() if name not in Text.NAMES}
    others |= {name: checked_time(others[name]) for name in TIMES & others.keys() if others[name] is not None}
    # A program may send all fields, also those that it leaves as they are.
    others = {name: value for name, value in others.items() if value != getattr(article, name)}
    now = _check_times(article, others, by, found)
    old = newest(article).text
    if not (correction or others) and old.changed(text) == old:
        store_article(article)  # which only brings its tasks in line: there is nothing to record
        return
    # Only a changed time can show the article to readers, so only then the commit is measured.
    dated = nullcontext() if now is None else dated_by_commit(article, now)
    with dated, recorded(Action.EDIT, article, by=by) as notes:
        old_author = article.author_id
        for name, value in others.items():
            setattr(article, name, value)
        if TIMES & others.keys():
            refuse_empty_span(article)
        notes.details["changed"] = sorted(article.changed_fields())
        if written_by:
            notes.details["written_by"] = sorted(written_by)
        if article.author_id != old_author:
            notes.details["author"] = [old_author, article.author_id]
        _write_text(article, old, text, by, notes, note=note, correction=correction)
        store_article(article, now=now)
        renumber(article)


def _write_text(
    article: Article,
    old: Text,
    changes: Mapping[str, Any],
    by: Actor | None,
    notes: Notes,
    *,
    note: str,
    correction: str,
) -> None:
    text = old.changed(changes)
    if text == old and not correction:
        return
    if by is not None:  # an import keeps the texts of another site as they were
        refuse_foreign_media(text, before=old)
    check_images(text, before=old)
    if article.status == Article.Status.RETRACTED:
        raise WrongState(_("The article is retracted; undo the retraction first."))
    revision = Revision.objects.add(article, text, author=by, note=note, correction=correction)
    notes.revision = revision.number
    notes.details["changed"] += sorted(text.differences(old))
    if article.status in Article.Status.passed():
        _write_update(article, revision, notes)
    else:
        put_into_columns(article, revision)
        if article.status in IN_REVIEW:
            _review_again(article, revision, notes)


def _write_update(article: Article, revision: Revision, notes: Notes) -> None:
    """Store the text as the draft of an update; the approved text stays in the article's columns."""
    update = article.pending_update or Update(article=article)
    was_in_review = update.draft is not None and update.status in IN_REVIEW
    update.draft = revision
    if was_in_review:
        _review_again(update, revision, notes)
    else:
        update.status = Article.Status.DRAFT
    store_update(update)


def _review_again(subject: Article | Update, revision: Revision, notes: Notes) -> None:
    """Review a changed text that is in review; note whether that takes it back to the first review stage."""
    # Read before the review below, which deletes the approvals of the stages.
    had_passed = StageApproval.objects.filter(article=revision.article_id).exists()
    review_text_again(subject, revision)
    if had_passed and subject.status == Article.Status.MANUAL_REVIEW:
        notes.details[FIRST_STAGE_AGAIN] = True


def _store_rejected(article: Article, changes: Mapping[str, Any], by: Actor) -> None:
    # Stored as a revision, so that nothing typed is lost, but not as the newest one that others continue.
    text = pinned(article).text if article.pending_update is None else newest(article).text
    text = text.changed({name: value for name, value in changes.items() if name in Text.NAMES})
    if not article.revisions.filter(digest=text.digest).exists():
        note = _("Not saved: another user had changed the article")
        Revision.objects.add(article, text, author=by, note=note)


def _refuse_form(changes: Mapping[str, Any]) -> None:
    if changes.get("cover_mode", CoverMode.AUTO) not in CoverMode.values:
        raise WrongCover(_("A cover is one of: %(modes)s.") % {"modes": _(", ").join(CoverMode.values)})
    if reason := oversize(changes.get("body", "")):
        raise TooLong(reason)


def _check_times(article: Article, changes: Mapping[str, Any], by: Actor, found: Settled) -> datetime | None:
    """Raise `WrongState` and so on for new times among `changes`; the time of the database if there are any."""
    times = {name: changes[name] for name in TIMES & changes.keys()}
    if not times:
        return None
    # Before the approval a time is part of what a reviewer decides about; afterwards it needs the permission to
    # schedule.
    if article.status not in Article.Status.unapproved():
        require(TRANSITIONS[Transition.SCHEDULE].permission, by)
    now = found.now
    current = position_at(article, now)
    if "publish_at" in times and current.article in (Article.Status.PUBLISHED, Article.Status.UNPUBLISHED):
        raise WrongState(_("The article has been published; its time can no longer be changed."))
    if "unpublish_at" in times and article.is_over_at(now):
        raise WrongState(_("The article has been unpublished already."))
    end_before_next_change(article, now)
    if times.get("publish_at") is not None and found.hold is not None:
        refuse_held(Transition.SCHEDULE, [article.pk])
    if "embargo_until" in times:
        require(TRANSITIONS[Transition.SET_EMBARGO].permission, by)
        refuse_impossible(Transition.SET_EMBARGO, current)
    refuse_past_times(times, now)
    return now
