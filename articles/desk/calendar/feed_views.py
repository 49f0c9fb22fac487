"""The calendar feed and the screen that manages its address."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from hashlib import sha256
from typing import Any
from zlib import compress, decompress

from django.conf import settings
from django.contrib import messages
from django.core.cache import cache
from django.db.models import Max
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import get_conditional_response
from django.utils.translation import get_language, gettext as _
from django.views.decorators.http import require_safe

from articles.desk.calendar.base import may_look, page, require_look, users
from articles.desk.calendar.icalendar import feed
from articles.desk.calendar.parameters import Choice
from articles.exceptions import NotAllowed
from articles.models import Article, AuditEntry, CalendarFeed, Channel, due_at, over_at
from articles.notifications import speaking_to
from articles.permissions import may_act_without_session, require_unchanged
from scheduling.database import read_database_clock, retried

CACHED = 24 * 60 * 60  # seconds; a version is valid for one day


def _feed_of(secret: str) -> CalendarFeed | None:
    """The feed, if its user may see the calendar now."""
    found = CalendarFeed.objects.with_secret(secret)
    is_valid = found is not None and may_look(found.user) and may_act_without_session(found.user)
    return found if is_valid else None


@require_safe
def calendar_file(request: HttpRequest, secret: str) -> HttpResponse:
    """The iCalendar file for calendar apps, which do not sign in. 404 for any invalid address."""
    found = _feed_of(secret)
    if found is None:
        raise Http404
    now = read_database_clock()
    choice = Choice.of(request.GET, now.date())
    with speaking_to(found.user):
        version = _version(found, choice, now)
        answer = get_conditional_response(request, etag=version) or _answer(_file(found, choice, now, version))
    answer["ETag"] = version
    return answer


def _version(found: CalendarFeed, choice: Choice, now: datetime) -> str:
    """Changes with each audit entry, channel, permission, language and day, and when readers see something else by the
    clock, so that a file of this version is valid.
    """
    sees_releases = found.user.has_perm("articles.view_release")
    channels = list(Channel.objects.order_by("pk").values_list("pk", "name"))
    changed = Article.objects.aggregate(last=Max("updated_at"))["last"]
    log = AuditEntry.objects.version()
    shown = (found.secret, choice.filters(), now.date(), get_language(), sees_releases, channels)
    stamp = (*shown, changed, log, *_not_recorded(now))
    return f'"{sha256(repr(stamp).encode()).hexdigest()[:32]}"'


def _not_recorded(now: datetime) -> Iterator[int]:
    """How many articles are live, and how many over, of which no worker has recorded that; usually none."""
    yield Article.objects.filter(due_at(now), status__in=Article.Status.waiting()).count()
    yield Article.objects.filter(over_at(now), status__in=Article.Status.visible()).count()


def _file(found: CalendarFeed, choice: Choice, now: datetime, version: str) -> bytes:
    """The file of this version, which is cached for its user alone."""
    key = f"calendar-feed:{found.pk}:{choice.filters()}"
    cached_version, compressed = cache.get(key) or ("", b"")
    if cached_version == version:
        return decompress(compressed)
    file = feed(choice, by=found.user, now=now)
    cache.set(key, (version, compress(file, level=1)), CACHED)
    return file


def _answer(file: bytes) -> HttpResponse:
    answer = HttpResponse(file, content_type="text/calendar; charset=utf-8")
    answer["Content-Disposition"] = 'inline; filename="headline.ics"'
    answer["Cache-Control"] = "private, no-cache"
    answer["X-Robots-Tag"] = "noindex"
    return answer


def feed_screen(request: HttpRequest) -> HttpResponse:
    """Show, renew or revoke the user's feed address."""
    require_look(request)
    if request.method == "POST":
        return _change(request)
    found = CalendarFeed.objects.filter(pk=request.user.pk).first()
    choice = Choice.of(request.GET, timezone.localdate())
    context = {
        "title": _("Subscribe to this calendar"),
        "feed": found,
        "choice": choice,
        "address": _address(found, choice) if found else "",
        "channels": Channel.objects.all(),
        "people": users(),
    }
    return page(request, "feed", context)


def _change(request: HttpRequest) -> HttpResponse:
    if "revoke" in request.POST:
        CalendarFeed.objects.revoke(request.user)
        messages.success(request, _("The address is revoked and no longer works."))
        return redirect("calendar-feed")
    try:
        _renew(request.user)
    except NotAllowed as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, _("This is your new address. The old one no longer works."))
    return redirect("calendar-feed")


@retried
def _renew(user: Any) -> None:
    require_unchanged(user)
    CalendarFeed.objects.renew(user)


def _address(found: CalendarFeed, choice: Choice) -> str:
    return settings.SITE_URL + reverse("calendar-file", args=[found.secret]) + choice.filters()
