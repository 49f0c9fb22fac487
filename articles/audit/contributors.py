"""The contributors to a text since its last approval, from the audit log; they may not approve it.

The article's `author` is not enough, because it can be reassigned. The audit log cannot be changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.utils.module_loading import import_string

from articles.audit.actions import Action
from articles.models import Article, AuditEntry, Revision, Text
from articles.workflow import WAITING, Transition

WRITING = (Action.CREATE, Action.EDIT, Action.SAVE)
DECIDED = (Transition.SUBMIT, Transition.APPROVE, Action.REVIEWED)
"""The actions that may have approved a text; the first and the last are the automatic review."""

APPROVED = Q(action__in=DECIDED) & (
    Q(new_status__in=WAITING, details__update__isnull=True)
    | Q(details__update__in=[status.name.lower() for status in WAITING])
)
"""The entries about approvals."""

_CONTRIBUTIONS = Text.NAMES | {"author"}


def contributor_ids(article: Article) -> set[int]:
    """The ids of the users who wrote the text under review, were its author, or assigned its author.

    Counted since the last valid approval; under the two-person rule only a user's approval counts.
    """
    revision = _under_review(article)
    found = {article.author_id, revision.author_id if revision else None}
    for entry in _since_approval(article):
        if entry.action in WRITING and _changed_text(entry):
            found |= _writers_in(entry)
        elif entry.action == Transition.SUBMIT and not (revision and revision.author_id):
            found.add(entry.user_id)  # the submitter of a text without a writer counts as one
    return {pk for pk in found if pk is not None}


def people_behind(user_ids: Iterable[int | None]) -> set[int]:
    """These users and, for programs among them, those who answer for the programs: together they are one person."""
    operators_of: Callable[[Collection[int]], set[int]] = import_string(settings.OPERATORS_OF_PROGRAMS)
    found = {pk for pk in user_ids if pk is not None}
    while new := operators_of(found) - found:
        found |= new
    return found


def writers(article: Article, revision: Revision) -> set[int]:
    """The ids of the users who wrote the text of a revision, since the last valid approval before it."""
    found = {revision.author_id}
    for entry in _since_approval(article, last=revision.number):
        if entry.action in WRITING and _changed_text(entry):
            found |= _writers_in(entry)
    return {pk for pk in found if pk is not None}


def _writers_in(entry: AuditEntry) -> set[int | None]:
    return {entry.user_id, *entry.details.get("written_by", ()), *entry.details.get("author", ())}


def has_writer(revision: Revision) -> bool:
    """Whether a user is known to have written or submitted the text of a revision."""
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
    """The entries about writing and approving, latest first, back to the last valid approval.

    Only those about revisions up to `last`, if given.
    """
    wanted = Q(action__in=[*WRITING, *DECIDED, Action.PULLED_BACK, Action.UNDONE])
    if last is not None:
        wanted &= Q(revision__lte=last)
    invalid_from: int | None = None  # approvals of this and later revisions were revoked
    columns = ("action", "user_id", "revision", "old_status", "new_status", "details")
    for entry in AuditEntry.objects.of(article).filter(wanted).only(*columns):
        if _revokes(entry):
            invalid_from = min(invalid_from if invalid_from is not None else _NEWEST, entry.revision or 0)
        elif _approves(entry) and (invalid_from is None or (entry.revision or _NEWEST) < invalid_from):
            return
        yield entry


_NEWEST = 2**31


def _revokes(entry: AuditEntry) -> bool:
    """Whether it revoked an approval."""
    was_undone = entry.action == Action.UNDONE and entry.old_status in WAITING and entry.new_status not in WAITING
    return entry.action == Action.PULLED_BACK or was_undone


def _approves(entry: AuditEntry) -> bool:
    by_user = entry.action == Transition.APPROVE
    if entry.action not in DECIDED or (settings.ARTICLES_TWO_PERSON_RULE and not by_user):
        return False
    update = entry.details.get("update")
    passed: Any = {status.name.lower() for status in WAITING}
    return update in passed if update else entry.new_status in WAITING


def _changed_text(entry: AuditEntry) -> bool:
    """Whether the entry changed more than times; without a list of changes, whether it created a text or a revision."""
    changed = entry.details.get("changed")
    return (
        not _CONTRIBUTIONS.isdisjoint(changed)
        if changed
        else entry.action == Action.CREATE or entry.revision is not None
    )
