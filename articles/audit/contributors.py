"""Who had a hand in a text since its last approval, from the audit log: nobody of them may approve it.

The article's `author` alone would not do: it can be reassigned. The audit log cannot be changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.db.models import Q

from articles.audit.log import CREATE, EDIT, PULLED_BACK, REVIEWED, SAVE, UNDONE
from articles.models import Article, AuditEntry, Revision, Text
from articles.workflow import WAITING, Transition

WRITING = (CREATE, EDIT, SAVE)
DECIDED = (Transition.SUBMIT, Transition.APPROVE, REVIEWED)
"""The actions of the audit log that may have let a text pass; the first and the last are the automatic review."""

APPROVED = Q(action__in=DECIDED) & (
    Q(new_status__in=WAITING, details__update__isnull=True)
    | Q(details__update__in=[status.name.lower() for status in WAITING])
)
"""The entries that say that a text passed."""

_CONTRIBUTIONS = Text.NAMES | {"author"}


def contributors(article: Article) -> set[int]:
    """The ids of everybody who wrote the text under review, or was or made somebody its author.

    That is since the last approval that still stands; under the two-person rule only a person's approval counts.
    """
    revision = _under_review(article)
    found = {article.author_id, revision.author_id if revision else None}
    for entry in _since_approval(article):
        if entry.action in WRITING and _changed_text(entry):
            found |= _hands(entry)
        elif entry.action == Transition.SUBMIT and not (revision and revision.author_id):
            found.add(entry.user_id)  # whoever hands in a text without a writer answers for it
    return {pk for pk in found if pk is not None}


def writers(article: Article, revision: Revision) -> set[int]:
    """The ids of everybody who wrote what a revision says, since the approval before it that still stands."""
    found = {revision.author_id}
    for entry in _since_approval(article, last=revision.number):
        if entry.action in WRITING and _changed_text(entry):
            found |= _hands(entry)
    return {pk for pk in found if pk is not None}


def _hands(entry: AuditEntry) -> set[int | None]:
    return {entry.user_id, *entry.details.get("written_by", ()), *entry.details.get("author", ())}


def has_writer(revision: Revision) -> bool:
    """Whether somebody is known to have written the text of a revision, or to have handed it in."""
    if revision.author_id:
        return True
    same = Revision.objects.filter(article=revision.article_id, digest=revision.digest)
    numbers = list(same.values_list("number", flat=True))
    entries = AuditEntry.objects.filter(article_id=revision.article_id, revision__in=numbers)
    return entries.filter(action__in=[*WRITING, Transition.SUBMIT], user_id__isnull=False).exists()


def _under_review(article: Article) -> Revision | None:
    newer = article.pending_update
    number = Q(pk=newer.draft_id) if newer and newer.draft_id else Q(number=article.revision)
    return article.revisions.filter(number).only("author", "number", "article").first()


def _since_approval(article: Article, *, last: int | None = None) -> Iterator[AuditEntry]:
    """The entries about who wrote what and who approved it, latest first, back to the last approval that stands.

    Those alone about revisions up to `last`, if that is given.
    """
    wanted = Q(action__in=[*WRITING, *DECIDED, PULLED_BACK, UNDONE])
    if last is not None:
        wanted &= Q(revision__lte=last)
    void: int | None = None  # approvals of this revision, and of later ones, have fallen
    columns = ("action", "user_id", "revision", "old_status", "new_status", "details")
    for entry in AuditEntry.objects.of(article).filter(wanted).only(*columns):
        if _fell(entry):
            void = min(void if void is not None else _NEWEST, entry.revision or 0)
        elif _approves(entry) and (void is None or (entry.revision or _NEWEST) < void):
            return
        yield entry


_NEWEST = 2**31


def _fell(entry: AuditEntry) -> bool:
    """Whether an approval was taken back."""
    was_undone = entry.action == UNDONE and entry.old_status in WAITING and entry.new_status not in WAITING
    return entry.action == PULLED_BACK or was_undone


def _approves(entry: AuditEntry) -> bool:
    by_user = entry.action == Transition.APPROVE
    if entry.action not in DECIDED or (settings.ARTICLES_TWO_PERSON_RULE and not by_user):
        return False
    update = entry.details.get("update")
    passed: Any = {status.name.lower() for status in WAITING}
    return update in passed if update else entry.new_status in WAITING


def _changed_text(entry: AuditEntry) -> bool:
    """Whether it is about more than times; one that lists no changes is if it made a text, or a correction."""
    changed = entry.details.get("changed")
    return not _CONTRIBUTIONS.isdisjoint(changed) if changed else entry.action == CREATE or entry.revision is not None
