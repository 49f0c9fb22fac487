"""The second person: under the two-person rule, texts that readers see are changed by one and approved by another.

Services that change such a text call `propose` instead, and register with `applies` how an approved change is made.
Locks are taken in one order: what a rule names with `lock`, the object, then its proposed change.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.db.models import Model
from django.urls import reverse
from django.utils.translation import gettext as _, gettext_noop, ngettext

from articles.audit import Action, Actor, people_behind, record_beside
from articles.exceptions import ChangeAltered, ChangeGone, NotAllowed, NotEditable, ReasonMissing
from articles.limits import TITLE_LENGTH
from articles.models import Notification, ProposedChange, Translatable, named
from articles.notifications import Message, send
from articles.permissions import REVIEW, is_one_of, require, require_newsroom
from articles.review.unreviewed import refuse_sensitive
from articles.text import format_time_exactly
from scheduling.database import lock_by_ids, read_database_clock, retried

Kind = ProposedChange.Subject
Values = Mapping[str, Any]
F = TypeVar("F", bound=Callable[[Any, Values, Actor], None])


@dataclass(frozen=True)
class Rule:
    """How a kind of object is changed: `apply` gets the locked object, the values and the user who approves."""

    model: type[Model]
    shown: tuple[str, ...]  #: fields that are compared also where they stay as they are
    apply: Callable[[Any, Values, Actor], None]
    compare: Callable[[Any, Values], Iterable[Comparison]] | None  #: where the fields do not say what readers see
    lock: Callable[[str], None] | None  #: locks, by the object's id, what comes before it in the order of all locks


_RULES: dict[str, Rule] = {}


def applies(
    kind: Kind,
    model: Any,
    *,
    shown: tuple[str, ...] = (),
    compare: Callable[[Any, Values], Iterable[Comparison]] | None = None,
    lock: Callable[[str], None] | None = None,
) -> Callable[[F], F]:
    """Register a function as the one that makes approved changes of such objects."""

    def register(function: F) -> F:
        _RULES[kind] = Rule(model, shown, function, compare, lock)
        return function

    return register


def needs_second_person() -> bool:
    """Whether texts that readers see wait for another person."""
    return bool(settings.ARTICLES_TWO_PERSON_RULE)


@retried
def propose(row: Any, values: Values, *, name: str, by: Actor, written_by: Collection[int] = ()) -> None:
    """Store a change of a locked object for another person to approve, who is none of those who have `written_by` it.

    It is added to one that waits already, which stays as it is without values. Values that are those of the object
    leave it, and an empty change is deleted.
    """
    if not values:
        return
    kind = _kind(row)
    change = ProposedChange.objects.select_for_update().of(kind, row.pk).first()
    change = change or ProposedChange(subject=kind, subject_id=str(row.pk))
    new = {**(change.values or {}), **values}
    change.values = {field: value for field, value in new.items() if value != getattr(row, field)}
    if not change.values:
        discard_changes(row)
        return
    change.name, change.proposed_at = name[:TITLE_LENGTH], read_database_clock()
    change.proposed_by = sorted({*change.proposed_by, *written_by, by.pk})
    change.save()
    record_beside(Action.PROPOSE_CHANGE, title=name, by=by, about=kind, subject=str(row.pk), values=dict(values))
    others = _reviewers() - people_behind(change.proposed_by)
    _notify(change, others, gettext_noop("It waits for another person to approve it."))


def set_values(row: Model, values: Values) -> None:
    """Set fields of an object. Raises `NotEditable` if they are not valid, or taken by now."""
    for name, value in values.items():
        setattr(row, name, value)
    others = {field.name for field in row._meta.fields} - values.keys()
    try:
        row.clean_fields(exclude=others)
        row.validate_unique(exclude=others)
    except ValidationError as error:
        raise NotEditable(" ".join(error.messages)) from error


def discard_changes(row: Model) -> None:
    """Delete what is proposed for an object that is gone, or no longer in a state to which it applies."""
    ProposedChange.objects.of(_kind(row), row.pk).delete()


def waits(row: Model) -> bool:
    """Whether a change of this object waits for another person, under the rule."""
    has_rule = any(rule.model is row._meta.concrete_model for rule in _RULES.values())
    return needs_second_person() and has_rule and ProposedChange.objects.of(_kind(row), row.pk).exists()


def address_of_subject(change: ProposedChange) -> str:
    """The form of the object."""
    model = _RULES[change.subject].model._meta.label_lower.replace(".", "_")
    return reverse(f"admin:{model}_change", args=[change.subject_id])


def _kind(row: Model) -> str:
    return next(kind for kind, rule in _RULES.items() if rule.model is row._meta.concrete_model)


@dataclass(frozen=True)
class Comparison:
    """A field of an object: its label, and its text now and after the change."""

    field: str
    label: str
    old: str
    new: str


def comparisons(change: ProposedChange) -> list[Comparison]:
    """What an approval changes, and the other texts of the object that readers will see with it."""
    row = _RULES[change.subject].model._default_manager.filter(pk=change.subject_id).first()
    return [] if row is None else list(_compared(change, row))


def version_of_change(compared: Collection[Comparison]) -> str:
    """Differs when what an approval is about does."""
    values = [(one.field, one.old, one.new) for one in compared]
    return hashlib.sha256(json.dumps(values, ensure_ascii=False).encode()).hexdigest()[:20]


def deciding_refusal(change: ProposedChange, by: Actor) -> str:
    """Why `by` may not approve; "" if they may."""
    if not by.has_perm(REVIEW):  # type: ignore[union-attr]
        return str(NotAllowed.message)
    if is_one_of(by, change.proposed_by):
        return _("Two-person rule: you have proposed this change; another person must approve it.")
    return ""


@retried
def approve_change(pk: int, *, version: str, by: Actor) -> None:
    """Make a proposed change as it was shown in `version`.

    Raises `NotAllowed`, `ChangeGone`, `ChangeAltered` if it or the object has changed since, and what the service of
    the object raises, such as `SensitiveText`.
    """
    require(REVIEW, by)
    change, row = _locked(pk)
    if refusal := deciding_refusal(change, by):
        raise NotAllowed(refusal)
    if version_of_change(list(_compared(change, row))) != version:
        raise ChangeAltered
    refuse_sensitive(*(value for value in change.values.values() if isinstance(value, str)))
    _RULES[change.subject].apply(row, change.values, by)
    _end(change, Action.APPROVE_CHANGE, by=by)
    _notify(change, {*change.proposed_by}, gettext_noop("Approved by %(name)s."), name=named(by))


@retried
def reject_change(pk: int, *, by: Actor, reason: str = "") -> None:
    """Drop a proposed change: its writer without a reason, or who may approve it with one.

    Raises `NotAllowed`, `ReasonMissing` and `ChangeGone`.
    """
    require_newsroom(by)
    change, _row = _locked(pk)
    if by.pk not in change.proposed_by:
        require(REVIEW, by)
        if not reason.strip():
            raise ReasonMissing(_("Enter the reason why the change is rejected."))
    _end(change, Action.REJECT_CHANGE, by=by, reason=reason.strip()[:500])
    text = gettext_noop("Rejected by %(name)s: %(reason)s")
    _notify(change, {*change.proposed_by} - {by.pk}, text, name=named(by), reason=reason.strip()[:300])


def _locked(pk: int) -> tuple[ProposedChange, Any]:
    """A change and its object, both locked. Raises `ChangeGone`."""
    found = ProposedChange.objects.filter(pk=pk).first()
    if found is None:
        raise ChangeGone
    rule = _RULES[found.subject]
    if rule.lock is not None:
        rule.lock(found.subject_id)
    row = lock_by_ids(rule.model, [found.subject_id]).first()
    change = lock_by_ids(ProposedChange, [pk]).first()
    if row is None or change is None:
        raise ChangeGone
    return change, row


def _end(change: ProposedChange, action: str, *, by: Actor, **details: str) -> None:
    record_beside(
        action, title=change.name, by=by, about=change.subject, subject=change.subject_id, values=change.values,
        written_by=change.proposed_by, **details,
    )  # fmt: skip
    ProposedChange.objects.filter(pk=change.pk).delete()


def _compared(change: ProposedChange, row: Any) -> Iterator[Comparison]:
    rule = _RULES[change.subject]
    if rule.compare is not None:
        yield from rule.compare(row, change.values)
        return
    fields = type(row)._meta
    for name in dict.fromkeys((*rule.shown, *change.values)):
        old = getattr(row, name)
        field = fields.get_field(name)
        texts = (_text(field, value) for value in (old, change.values.get(name, old)))
        yield Comparison(name, str(field.verbose_name), *texts)


def _text(field: Any, value: Any) -> str:
    if field.remote_field and value is not None:
        row = field.remote_field.model._default_manager.filter(pk=value).first()
        return str(value) if row is None else named(row) if isinstance(row, AbstractBaseUser) else str(row)
    if isinstance(value, bool):
        return _("Yes") if value else _("No")
    if isinstance(value, datetime):
        return format_time_exactly(value)
    if isinstance(value, timedelta):
        minutes = int(value.total_seconds() // 60)
        return ngettext("%d minute", "%d minutes", minutes) % minutes
    return "" if value is None else str(value)


def _reviewers() -> set[int]:
    users = get_user_model()._default_manager.with_perm(REVIEW, include_superusers=False)
    return set(users.filter(is_staff=True, is_active=True).values_list("pk", flat=True))


def _notify(change: ProposedChange, users: Collection[int], text: str, **values: str) -> None:
    reason = Translatable.of(text, **values)
    send([Message(Notification.Kind.PROPOSED, None, change.name, frozenset(users), reason)])
