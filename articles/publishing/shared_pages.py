"""Shared pages: a page of the readers' site at an instant to come, without an account."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from ipaddress import ip_address, ip_network
from typing import Any
from urllib.parse import unquote

from django.db.models import F
from django.urls import Resolver404, resolve
from django.utils.translation import gettext_lazy as _

from articles.audit import Action, Actor, record_beside
from articles.exceptions import ArticleError, NotAllowed, TimePast
from articles.limits import ADDRESS_LENGTH, TITLE_LENGTH
from articles.models import MOST_VISITS, SharedPage, SharedPageVisit
from articles.permissions import PUBLISH, may_act_without_session, reads_articles, require
from articles.publishing.previews import MAX_PREVIEW_LIFETIME, LastsTooLong
from scheduling.database import database_now, delete_by_ids, read_database_clock, retried

SHARED_VIEWS = frozenset(
    {"home", "front", "latest", "channel", "tag", "author", "article", "article-by-id", "search"},
)
"""The names of the addresses of readers' pages; feeds and programs need no link."""


class NoPage(ArticleError):
    """The address is no page of the readers' site."""

    code = "no_page"
    message = _("This is no page of the site.")


def may_share(user: Any) -> bool:
    """Whether the user may show pages at other instants to people without an account: who sees all and may publish."""
    return reads_articles(user) and bool(user.has_perm(PUBLISH))


@retried
def share_page(page: str, *, at: datetime, lasts: timedelta, by: Actor, note: str = "") -> SharedPage:
    """Create a link to one page at one instant, at which it ends at the latest.

    Raises `NotAllowed`, `NoPage`, `TimePast` and `LastsTooLong`.
    """
    require(PUBLISH, by)
    if not (reads_articles(by) and may_act_without_session(by)):  # with whose rights the link works
        raise NotAllowed
    if not timedelta() < lasts <= MAX_PREVIEW_LIFETIME:
        raise LastsTooLong
    if not is_page(page):
        raise NoPage
    now = read_database_clock()
    if at <= now:
        raise TimePast(_("Choose a time to come: readers see the page of now without a link."))
    shared = SharedPage(page=page, at=at, note=note, created_at=now, expires_at=min(now + lasts, at))
    shared.created_by_id = by.pk
    shared.save(force_insert=True)
    times = {"at": at.isoformat(), "until": shared.expires_at.isoformat()}
    record_beside(Action.SHARE_PAGE, title=page[:TITLE_LENGTH], by=by, link=str(shared.pk), **times)
    return shared


def is_page(address: str) -> bool:
    """Whether a path, with parameters, is a page of the readers' site."""
    try:
        match = resolve(unquote(address.partition("?")[0]))
    except Resolver404:
        return False
    return len(address) <= ADDRESS_LENGTH and match.view_name in SHARED_VIEWS


def open_shared_page(token: str) -> SharedPage | None:
    """The shared page whose address ends in `token`, while it is valid."""
    found = SharedPage.objects.signed(token).open_at(database_now()).select_related("created_by").first()
    return found if found is not None and is_sharer_authorised(found) else None


def is_sharer_authorised(shared: SharedPage) -> bool:
    """Whether its creator is still active staff, with a required second factor, who may share pages."""
    creator = shared.created_by
    return creator is not None and may_act_without_session(creator) and may_share(creator)


@retried
def note_use(shared: SharedPage, *, images: Collection[str], address: str) -> None:
    """Count that it was opened, log that, and keep which images its reader may load."""
    now = database_now()
    SharedPage.objects.filter(pk=shared.pk).update(uses=F("uses") + 1, last_used_at=now, images=sorted(images))
    SharedPageVisit.objects.create(shared=shared, at=now, network=network_of(address))
    delete_by_ids(SharedPageVisit, list(shared.visits.values_list("pk", flat=True)[MOST_VISITS : 2 * MOST_VISITS]))


def network_of(address: str) -> str:
    """The network of a visitor, so that the log tells visitors apart and none of them by name; empty for no address."""
    try:
        found = ip_address(address)
    except ValueError:
        return ""
    found = getattr(found, "ipv4_mapped", None) or found
    return str(ip_network((found, 24 if found.version == 4 else 48), strict=False))


@retried
def unshare_page(shared: SharedPage, *, by: Actor) -> None:
    """Make the link invalid; revoking twice changes nothing. Raises `NotAllowed`."""
    require(PUBLISH, by)
    now = read_database_clock()
    if SharedPage.objects.filter(pk=shared.pk, revoked_at__isnull=True).update(revoked_at=now):
        record_beside(Action.UNSHARE_PAGE, title=shared.page[:TITLE_LENGTH], by=by, link=str(shared.pk))
    shared.refresh_from_db()
