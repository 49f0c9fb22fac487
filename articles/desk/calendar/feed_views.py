"""The calendar feed and the screen that manages its address."""

from __future__ import annotations

from hashlib import sha256

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import condition, require_safe

from articles.desk.calendar.base import may_look, page, require_look, users
from articles.desk.calendar.icalendar import feed
from articles.desk.calendar.parameters import Choice
from articles.models import AuditEntry, CalendarFeed, Channel
from articles.notifications import speaking_to
from scheduling.services import read_database_clock


def _feed_of(secret: str) -> CalendarFeed | None:
    """The feed, if its user may see the calendar now."""
    found = CalendarFeed.objects.with_secret(secret)
    return found if found is not None and may_look(found.user) else None


def version(request: HttpRequest, secret: str) -> str | None:
    """Changes with each audit entry and each day; used as ETag."""
    found = _feed_of(secret)
    if found is None:
        return None
    last = AuditEntry.objects.order_by("-id").values_list("id", flat=True).first()
    today = read_database_clock().date()
    with speaking_to(found.user):
        stamp = repr((found.nonce, last, today, sorted(request.GET.items()), get_language()))
    return f'"{sha256(stamp.encode()).hexdigest()[:32]}"'


@require_safe
@condition(etag_func=version)
def calendar_file(request: HttpRequest, secret: str) -> HttpResponse:
    """The iCalendar file for calendar apps, which do not sign in. 404 for any invalid address."""
    found = _feed_of(secret)
    if found is None:
        raise Http404
    now = read_database_clock()
    with speaking_to(found.user):
        file = feed(Choice.of(request.GET, now.date()), by=found.user, now=now)
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
    else:
        CalendarFeed.objects.renew(request.user)
        messages.success(request, _("This is your new address. The old one no longer works."))
    return redirect("calendar-feed")


def _address(found: CalendarFeed, choice: Choice) -> str:
    return settings.SITE_URL + reverse("calendar-file", args=[found.secret]) + choice.filters()
