"""Hints below time fields: distance, time zone and problems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, time, timedelta, tzinfo
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.urls import URLPattern, path
from django.utils import formats, timezone
from django.utils.timesince import timesince, timeuntil
from django.utils.translation import gettext as _, ngettext
from unfold.admin import ModelAdmin

from articles.desk.editor.settable import TIME_FIELDS
from articles.desk.parse import number_or_zero
from articles.desk.time_field import ZonedTimeField, format_wall, sent_zone, two_times
from articles.models import Article, status_at
from articles.publishing import PAST
from articles.text import format_time_exactly, local_time, wall_clock, zone_label
from scheduling.database import read_database_clock

MAX_HINTS = 3
EVENING, MORNING, HOUR = time(18), time(7), timedelta(hours=1)

Times = Mapping[str, datetime]


class TimingScreens(ModelAdmin):
    """Mixin with the endpoint for time hints."""

    def get_urls(self) -> list[URLPattern]:
        """The endpoint's URL."""
        own = [path("times/", self.admin_site.admin_view(self.times), name="articles_article_times")]
        return [*own, *super().get_urls()]

    def times(self, request: HttpRequest) -> HttpResponse:
        """For each time in the query: sentence, zone and problems."""
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        now = read_database_clock()
        with timezone.override(zone_of_form(request.GET)):
            return self._times(request, now)

    def _times(self, request: HttpRequest, now: datetime) -> HttpResponse:
        answers, times = _read(request, now)
        for name, warnings in _warnings(request, times, now).items():
            answers[name]["problems"] += warnings
        if _has_gone_live(request, now):  # its time is no plan any more
            answers["publish_at"] |= {"problems": [], "later": None}
        walls = {choice: format_wall(wall) for choice, (_label, wall) in quick_times(now).items()}
        return JsonResponse({"fields": answers, "choices": walls})


def zone_of_form(sent: QueryDict) -> tzinfo:
    """The zone that the form shows, which is the same for all of its fields."""
    zones = filter(None, (sent.get(f"{name}_zone") for name in TIME_FIELDS))
    return sent_zone(next(zones, None))


def quick_times(now: datetime) -> dict[str, tuple[str, datetime]]:
    """Label and wall time of quick choices by name, in the current zone.

    Choices that make no sense now are omitted: no "tonight" in the late evening, no "Monday" on a Sunday.
    """
    local = timezone.localtime(now)
    today, tomorrow = local.date(), local.date() + timedelta(days=1)
    in_one_hour = (timezone.localtime(now + timedelta(hours=1, seconds=59))).replace(second=0, microsecond=0)
    monday = today + timedelta(days=7 - today.weekday())
    found = {"hour": (_("In one hour"), in_one_hour.replace(tzinfo=None))}
    if local.time() < EVENING:
        found["tonight"] = (_("Tonight 18:00"), datetime.combine(today, EVENING))
    found["tomorrow"] = (_("Tomorrow 07:00"), datetime.combine(tomorrow, MORNING))
    if monday != tomorrow:
        found["monday"] = (_("Monday 07:00"), datetime.combine(monday, MORNING))
    return found


def with_preset(posted: QueryDict, field: str, now: datetime) -> QueryDict:
    """A posted form with the time of the quick choice in `preset`, if there is one."""
    chosen = quick_times(now).get(posted.get("preset", ""))
    if chosen is None:
        return posted
    changed = posted.copy()
    changed[field] = format_wall(chosen[1])
    changed.pop(f"{field}_which", None)
    return changed


def time_in_words(at: datetime | None, now: datetime) -> list[str]:
    """When, in the zone of the user and, if it differs, of the newsroom."""
    if at is None:
        return []
    own, newsroom = timezone.get_current_timezone(), timezone.get_default_timezone()
    if str(own) == str(newsroom):
        return [sentence(at, now)]
    with timezone.override(newsroom):
        elsewhere = sentence(at, now)
    return [sentence(at, now), _("In the newsroom: %(time)s") % {"time": elsewhere}]


def sentence(moment: datetime, now: datetime) -> str:
    """Such as "in 14 hours, Tuesday 24 November 07:00 (Europe/Berlin)"."""
    local = local_time(moment)
    # Translators: a day such as Tuesday 24 November, in the letters of Django's date filter
    day = formats.date_format(local, _("l j F"))
    words = {
        "day": f"{day} {wall_clock(local)}",
        "zone": timezone.get_current_timezone(),
        "distance": _distance(moment, now),
    }
    if moment > now:
        return _("in %(distance)s, %(day)s (%(zone)s)") % words
    return _("%(distance)s ago, %(day)s (%(zone)s)") % words


def _distance(moment: datetime, now: datetime) -> str:
    """Distance, more exact for nearer times."""
    if abs(moment - now) < timedelta(minutes=1):
        seconds = max(1, int(abs(moment - now).total_seconds()))
        return ngettext("%d second", "%d seconds", seconds) % seconds
    if moment > now:
        distance = timeuntil(moment, now, depth=2 if moment - now < timedelta(days=2) else 1)
        return distance.replace(_(", "), " ")  # a comma separates it from the day
    return timesince(moment, now, depth=1)


def _read(request: HttpRequest, now: datetime) -> tuple[dict[str, dict[str, Any]], Times]:
    """Hints for each time, and the valid times."""
    answers, times = {}, {}
    for name in TIME_FIELDS:
        wall, which = request.GET.get(name, ""), request.GET.get(f"{name}_which", "")
        twice = two_times([wall])
        answer: dict[str, Any] = {"sentence": "", "zone": zone_label(), "problems": [], "occurrences": twice}
        try:
            moment = ZonedTimeField(required=False).clean([wall, which])
        except ValidationError as error:
            answer["problems"] = list(error.messages)
        else:
            if moment is not None:
                times[name] = moment
                answer |= {"sentence": sentence(moment, now), "zone": zone_label(moment)}
                answer["later"] = format_wall(timezone.localtime(moment + HOUR))
        answers[name] = answer
    return answers, times


def _warnings(request: HttpRequest, times: Times, now: datetime) -> dict[str, list[str]]:
    """Problems between the times; saving validates them again."""
    found: dict[str, list[str]] = {}
    if live := times.get("publish_at"):
        channel, own = (number_or_zero(request.GET.get(name, "")) for name in ("channel", "article"))
        found["publish_at"] = [*late(live, now), *conflicts(channel, own, live, now)]
    if live and times.get("embargo_until", live) > live:
        text = _("The embargo ends later: the article cannot go live before %(time)s.")
        found["embargo_until"] = [text % {"time": format_time_exactly(times["embargo_until"])}]
    goes_live = max((times[name] for name in ("publish_at", "embargo_until") if name in times), default=None)
    if goes_live and "unpublish_at" in times and times["unpublish_at"] <= goes_live:
        found["unpublish_at"] = [_("The article would be unpublished before it goes live.")]
    return found


def _has_gone_live(request: HttpRequest, now: datetime) -> bool:
    """Whether readers see the article of the form, or have seen it."""
    article = Article.objects.filter(pk=number_or_zero(request.GET.get("article", "")) or 0).first()
    return article is not None and status_at(article, now) in (Article.Status.PUBLISHED, Article.Status.UNPUBLISHED)


def late(live: datetime, now: datetime) -> Iterator[str]:
    """That the time is past, if it is."""
    if live <= now:
        yield str(PAST["publish_at"])


def conflicts(channel: int | None, own: int | None, live: datetime, now: datetime) -> Iterator[str]:
    """A sentence for each article that goes live in the channel at nearly the same time."""
    if channel:
        yield from (conflict(other, now) for other in near([channel], live, now).exclude(pk=own or 0)[:MAX_HINTS])


def near(channels: Any, live: datetime, now: datetime) -> QuerySet[Article]:
    """The articles that go live, or went, in one of these channels at nearly that time, in the order of theirs.

    Not those that go live at another time, because of an embargo or because they were not approved in time.
    """
    status = Article.Status
    span = (live - settings.CALENDAR_CONFLICT, live + settings.CALENDAR_CONFLICT)
    found = Article.objects.filter(channel__in=channels, publish_at__range=span)
    found = found.exclude(status__in=(status.RETRACTED, status.UNPUBLISHED))
    found = found.exclude(status__in=status.unapproved(), publish_at__lte=now).exclude(embargo_until__gt=span[1])
    return found.only("title", "publish_at", "embargo_until").order_by("publish_at", "pk")


def conflict(other: Article, now: datetime) -> str:
    """A sentence about such an article."""
    moment = other.out_since
    words = {"title": other.title, "time": f"{timezone.localtime(moment):%H:%M:%S}"}
    if moment > now:
        return _("“%(title)s” in the same channel goes live at %(time)s.") % words
    return _("“%(title)s” in the same channel went live at %(time)s.") % words
