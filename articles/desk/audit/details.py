"""Details of an audit entry, for display."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from django.apps import apps
from django.contrib.auth import get_user_model
from django.core.exceptions import FieldDoesNotExist
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.translation import gettext, gettext_lazy as _

from articles.audit import FIRST_STAGE_AGAIN, WENT_LIVE_OVER
from articles.fronts import OperationKind, Recurrence
from articles.models import Article, AuditEntry, Image, ProposedChange, ReleaseMember, named
from articles.text import format_time_exactly
from articles.workflow import VERDICTS

Status = Article.Status
Reader = Callable[[Any], str]


def details_of(entry: AuditEntry) -> Iterator[tuple[str | Promise, str]]:
    """Labels and values; internal values such as link keys are omitted."""
    if entry.article_id:
        yield _("article ID"), _article(entry.article_id)
    if entry.user_name:
        yield _("username"), entry.user_name
    for name, value in entry.details.items():
        label, read = _DETAILS.get(name, (name, str))
        if value and name not in _LEFT_OUT and (text := read(value)):
            yield label, text


def _article(pk: int) -> str:
    if not Article.objects.filter(pk=pk).exists():
        return str(pk)
    return format_html('<a class="desk-link" href="{}">{}</a>', reverse("admin:articles_article_change", args=[pk]), pk)


def _image(pk: str) -> str:
    """A link to the image, if it still exists."""
    image = Image.objects.filter(pk=pk).first()
    if image is None:
        return ""
    address = reverse("admin:articles_image_change", args=[pk])
    return format_html('<a class="desk-link" href="{}">{}</a>', address, image.title)


def _time(value: str) -> str:
    return format_time_exactly(datetime.fromisoformat(value))


def _times(values: Iterable[str | None]) -> str:
    """Before and after."""
    return " → ".join(_time(value) if value else "—" for value in values)


def _status(value: str) -> str:
    by_review = {str(verdict): status for verdict, status in VERDICTS.items()}
    return str((by_review.get(value) or Status.__members__[value.upper()]).label)


def _users(ids: Iterable[int | None]) -> str:
    """Users before and after; the ID of a deleted user."""
    found = get_user_model()._default_manager.in_bulk([pk for pk in ids if pk])
    return " → ".join(named(found[pk]) if pk in found else str(pk or "—") for pk in ids)


def _names(names: Iterable[str]) -> str:
    return gettext(", ").join(_name(name) for name in names)


def _name(name: str) -> str:
    """The label of an article or image field."""
    for model in ("Article", "Update", "Image", "Channel"):
        try:
            return str(apps.get_model("articles", model)._meta.get_field(name).verbose_name)
        except FieldDoesNotExist:
            continue
    return name


def _listed(texts: Iterable[str]) -> str:
    return gettext(", ").join(map(gettext, texts))


def _changes(values: Mapping[str, Iterable[Any]]) -> str:
    """Each changed field of a user account."""
    fields = get_user_model()._meta
    return gettext(", ").join(
        f"{fields.get_field(name).verbose_name}: {' → '.join(str(value) or '—' for value in pair)}"  # type: ignore[union-attr]
        for name, pair in values.items()
    )


def _operations(done: Iterable[Mapping[str, Any]]) -> str:
    """What was done to a front, each with the texts that were set."""
    return gettext("; ").join(map(_operation, done))


def _operation(done: Mapping[str, Any]) -> str:
    name = str(OperationKind(done["op"]).label) if done.get("op") in OperationKind else str(done.get("op"))
    texts = [str(value) for name, value in (done.get("values") or {}).items() if value and isinstance(value, str)]
    quoted = gettext(", ").join(f"“{text}”" for text in texts)
    return f"{name}: {quoted}" if texts else name


def _values(values: Mapping[str, Any]) -> str:
    """What was proposed for each field."""
    return gettext(", ").join(f"{_name(name)}: “{value}”" for name, value in values.items())


_SIGN_IN: Mapping[str, str | Promise] = {
    "password": _("password"),
    "socialaccount": _("single sign-on"),
    "totp": _("authenticator app"),
    "webauthn": _("passkey"),
    "recovery_codes": _("recovery code"),
    "one_time_link": _("one-time link"),
    "cancelled": _("cancelled by the user"),
    "code": _("wrong code"),
    "deactivated": _("deactivated account"),
    "email_taken": _("address of another account"),
    "email_reused": _("address of another user’s linked account"),
    "email_unconfirmed": _("unconfirmed email address"),
    "expired": _("expired or used before"),
    "no_email": _("no email address"),
    "no_role": _("no group with a role"),
    "provider": _("fault of the identity provider"),
}
"""Ways to sign in, and reasons why that failed."""


def _way(name: str) -> str:
    return str(_SIGN_IN.get(name, name))


_LEFT_OUT = frozenset(
    (
        *("link", "limit", "note", "scopes", "old", "new", "machine", "approved_by", "override"),
        *("stage", "stage_name", "stages", "subject", "front_version", WENT_LIVE_OVER),
    )
)
"""Keys not displayed: link keys, what only programs compare, and values shown as the entry's change."""

_DETAILS: Mapping[str, tuple[str | Promise, Reader]] = {
    "alert": (_("breaking alert"), str),
    "alert_from": (_("shown from"), _time),
    "alert_minutes": (_("minutes"), str),
    "assigned": (_("owner"), _users),
    "based_on": (_("from version"), str),
    "live_from": (_("live from"), _time),
    "repeats": (_("repeats"), lambda stored: str(Recurrence.of(stored))),
    "day": (_("day"), str),
    "operations": (_("done"), _operations),
    "author": (_("author"), _users),
    "about": (_("kind"), lambda value: str(ProposedChange.Subject(value).label)),
    "address": (_("IP address"), str),
    "changed": (_("changed"), _names),
    "count": (_("sessions"), str),
    "kind": (_("kind"), _way),
    "methods": (_("signed in with"), lambda names: gettext(", ").join(map(_way, names))),
    "reason": (_("reason"), _way),
    "copy_of": (_("copy of article"), _article),
    "changes": (_("changed"), _changes),
    "due_at": (_("due"), _times),
    "given": (_("granted"), _listed),
    FIRST_STAGE_AGAIN: (_("review"), lambda value: gettext("at the first stage again")),
    "owner": (_("acts as"), str),
    "taken": (_("removed"), _listed),
    "discarded": (_("discarded revisions"), lambda numbers: gettext(", ").join(map(str, numbers))),
    "image": (_("image"), _image),
    "notice": (_("retraction notice"), str),
    "old_name": (_("previous name"), str),
    "planned": (_("action"), lambda value: str(ReleaseMember.Action(value).label)),
    "quote": (_("passage"), str),
    "until": (_("expires"), _time),
    "values": (_("proposed"), _values),
    "update": (_("pending update"), _status),
    "update_at": (_("update goes live"), _time),
    "written_by": (_("text by"), lambda ids: gettext(", ").join(_users([pk]) for pk in ids)),
    "unpublish_at": (_("unpublish at"), _times),
    "embargo_until": (_("embargo until"), _times),
}
"""Label and formatter by key."""
