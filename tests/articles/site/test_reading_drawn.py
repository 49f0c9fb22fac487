"""Drawn schedules: every page is previewed as an anonymous reader gets it later, with a worker or without.

`make previews` draws more of them. The time that passes is pretended: all stored times are moved into the past.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from articles import fronts, publishing, releases
from articles.fronts import Recurrence
from articles.models import Article, ArticleQuerySet, FrontVersion, Release, ReleaseMember, Update
from articles.site import sitemaps
from scheduling.workers.worker import Worker
from tests.articles.factories import EARLY, make_article, make_front, make_release, sitemap_of, soon
from tests.articles.releases.test_by_clock import Newsroom, differences, seen
from tests.articles.site.test_reading import desk_of, previewed, shift, without_times

pytestmark = pytest.mark.django_db(transaction=True)

SCHEDULES = int(os.environ.get("SCHEDULES", "1"))
"""How many are drawn."""

EACH = 8
"""Addresses that are read of each, out of some twenty."""

MINUTE = timedelta(minutes=1)


class Schedule:
    """Some things that the clock changes within a quarter of an hour, each at a full minute."""

    def __init__(self, seed: int) -> None:
        self.random, self.newsroom, self.begin = Random(seed), Newsroom(), soon()  # noqa: S311 (drawn, not secret)
        self.free = [self.newsroom.live(f"Live headline {number}", hours=-5) for number in range(4)]
        self.instants: set[int] = set()
        self.of_fronts: set[int] = set()
        kinds = (
            self.article,
            self.update,
            self.end,
            self.embargo,
            self.release,
            self.failing_release,
            self.front,
            self.recurring,
        )
        for number, kind in enumerate(self.random.choices(kinds, k=5)):
            kind(number)

    def draw(self) -> datetime:
        """A minute to come."""
        minute = self.random.randint(2, 15)
        self.instants.add(minute)
        return self.begin + minute * MINUTE

    def draw_for_front(self) -> datetime:
        """A minute to come that no other front has: two versions of one front are refused."""
        minute = self.random.choice([minute for minute in range(2, 16) if minute not in self.of_fronts])
        self.instants.add(minute)
        self.of_fronts.add(minute)
        return self.begin + minute * MINUTE

    def live(self) -> Article:
        """A live article that nothing is planned for."""
        return self.free.pop() if self.free else self.newsroom.live("Another headline", hours=-4)

    def article(self, number: int) -> None:
        """An article goes live, and perhaps ends soon."""
        moment = self.draw()
        end = moment + 2 * MINUTE if self.random.random() < 0.5 else None
        coming = self.newsroom.waiting(f"Coming headline {number}")
        Article.objects.filter(pk=coming.pk).update(publish_at=moment, unpublish_at=end, cleared_at=EARLY)

    def update(self, number: int) -> None:
        """An update, perhaps with another channel and other tags."""
        article = self.live()
        more = {"channel": self.newsroom.world, "tags": [self.newsroom.snow]} if self.random.random() < 0.5 else {}
        self.newsroom.update(article, "It was wrong.", title=f"New headline {number}", body="<p>Valley</p>", **more)
        Update.objects.filter(article=article).update(publish_at=self.draw(), updated_at=EARLY)

    def end(self, number: int) -> None:
        """A live article leaves."""
        Article.objects.filter(pk=self.live().pk).update(unpublish_at=self.draw())

    def embargo(self, number: int) -> None:
        """An article goes live at the end of its embargo."""
        held = self.newsroom.waiting(f"Held headline {number}")
        Article.objects.filter(pk=held.pk).update(
            publish_at=self.begin - MINUTE, embargo_until=self.draw(), cleared_at=EARLY
        )

    def release(self, number: int, *others: Article) -> None:
        """Articles, an update and an end at one instant."""
        updated = self.live()
        self.newsroom.update(updated, title=f"Released headline {number}")
        members = (self.newsroom.waiting(f"Fresh headline {number}"), updated, *others)
        release = make_release(*members, by=self.newsroom.irene, name=f"Release {number}")
        leaving = self.live()
        releases.add_member(release, article=leaving, action=ReleaseMember.Action.UNPUBLISH, by=self.newsroom.irene)
        releases.schedule_release(release, publish_at=self.draw(), by=self.newsroom.irene)
        Release.objects.filter(pk=release.pk).update(updated_at=EARLY)

    def failing_release(self, number: int) -> None:
        """One of them is a draft, so readers get none."""
        self.release(number, make_article(f"Draft headline {number}"))

    def front(self, number: int) -> None:
        """A composed front takes the place of the automatic one."""
        make_front(self.live(), live_from=self.draw_for_front(), language=self.random.choice(["en", "zh-hans"]))

    def recurring(self, number: int) -> None:
        """A composed front recurs, perhaps not the first time."""
        moment, language = self.draw_for_front(), self.random.choice(["en", "zh-hans"])
        version = make_front(self.live(), live_from=moment, language=language)
        FrontVersion.objects.filter(pk=version.pk).update(status=FrontVersion.Status.DRAFT, live_from=None)
        skipped = self.random.random() < 0.3
        rule = Recurrence(
            days=tuple(range(7)),
            wall=moment.time(),
            zone="UTC",
            starts=moment.date(),
            skipped=frozenset([moment.date()] if skipped else []),
        )
        version.refresh_from_db()
        fronts.repeat_version(version, rule=rule, by=self.newsroom.irene)

    def addresses(self) -> list[str]:
        """Lists, feeds, sitemaps, API and some articles."""
        pages = ("/", "/en/", "/zh-hans/", "/latest/", "/channel/town/", "/channel/world/", "/tag/rain/", "/tag/snow/")
        feeds = ("/feed/", "/channel/world/feed/atom/", "/tag/snow/feed/json/", "/news-sitemap.xml", "/sitemap.xml")
        api = "/api/v1/articles/"
        ids = self.random.sample(list(Article.objects.values_list("pk", flat=True)), k=3)
        own = [f"/article/{pk}/x/" for pk in ids] + [f"{api}{pk}/" for pk in ids]
        return [*pages, *feeds, sitemap_of(self.newsroom.old), api, f"{api}?q=headline", "/search/?q=valley", *own]

    def looks(self) -> list[datetime]:
        """Instants at the changes, and between them."""
        at_changes = self.random.sample(sorted(self.instants), k=1)
        between = self.random.randint(1, 16) + 0.5
        return sorted(self.begin + minute * MINUTE + timedelta(seconds=1) for minute in {*at_changes, between})


def untrue(seed: int, *, about: str = "/") -> str:
    """Where what a reader gets differs from the preview that was made before anything happened."""
    schedule = Schedule(seed)
    addresses = [address for address in schedule.addresses() if about in address]
    addresses = Random(seed).sample(addresses, k=min(EACH, len(addresses)))  # noqa: S311 (drawn, not secret)
    moments, desk = schedule.looks(), desk_of(schedule.newsroom)
    previews = [without_times(previewed(desk, addresses, moment)) for moment in moments]
    shifted, found = timedelta(), []
    for moment, preview in zip(moments, previews, strict=True):
        distance = moment - soon() - shifted  # real time has passed, too, on a slow machine much
        shift(distance)
        shifted += distance
        if schedule.random.random() < 0.5:
            publishing.sync_tasks(list(Article.objects.values_list("pk", flat=True)))
            releases.sync_release_tasks(list(Release.objects.values_list("pk", flat=True)))
            Worker().drain()
        found.append(differences(preview, without_times(seen(addresses))))
    return "\n".join(filter(None, found))


@pytest.mark.parametrize("seed", range(SCHEDULES))
def test_every_preview_is_what_an_anonymous_reader_gets_then(seed: int) -> None:
    assert not untrue(seed)


@pytest.mark.thorough
def test_a_query_that_forgets_the_instant_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def live() -> ArticleQuerySet:
        return Article.objects.live(datetime.now(UTC))

    monkeypatch.setattr(sitemaps, "_live", live)
    assert untrue(3, about="sitemap")
