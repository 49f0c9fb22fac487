"""A newsroom that works while its receiver of webhooks is away, and what the receiver must have in the end."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from django.contrib.auth.models import User

from articles import publishing
from articles.models import PUBLIC_KINDS, Article, Event
from tests.articles.factories import APPROVED, make_article, make_editor, soon
from tests.articles.webhooks.receivers import Receiver

Status = Article.Status
_NEXT: dict[int, Sequence[Callable[[Article, User], object]]] = {
    Status.PUBLISHED: (
        lambda article, by: publishing.unpublish(article, by=by),
        lambda article, by: publishing.retract(article, by=by, notice="Wrong"),
    ),
    Status.UNPUBLISHED: (lambda article, by: publishing.republish(article, by=by),),
}


class Newsroom:
    """Publishes, unpublishes, republishes and retracts, by a seed."""

    def __init__(self, seed: int) -> None:
        self.alice = make_editor()
        self._random = random.Random(seed)
        self._later = [make_article(f"Later {number}", status=APPROVED, publish_at=soon(days=2)) for number in range(3)]

    def work(self) -> None:
        """One new article, and what may follow for some others."""
        publishing.publish_now(make_article("New", status=APPROVED), by=self.alice)
        articles = list(Article.objects.filter(status__in=_NEXT).order_by("pk"))
        for article in self._random.sample(articles, min(2, len(articles))):
            self._random.choice(_NEXT[article.status])(article, self.alice)

    def check(self, receiver: Receiver, retracted: set[int]) -> int:
        """Compare what came with what was written; how many events there were.

        `retracted` are articles that were retracted while the receiver was away.
        """
        events = {f"evt_{one.seq}": one for one in Event.objects.filter(kind__in=PUBLIC_KINDS)}
        assert len(receiver.ids) == len(set(receiver.ids)) == len(events)
        assert set(receiver.ids) == events.keys()
        last: dict[int, int] = {}
        for (headers, _body), body in zip(receiver.requests, receiver.bodies, strict=True):
            event = events[headers["webhook-id"]]
            assert event.seq is not None
            assert event.seq > last.get(event.object_id, 0), f"{body} came after event {last[event.object_id]}"
            last[event.object_id] = event.seq
            sent_at = datetime.fromtimestamp(int(headers["webhook-timestamp"]) + 1, tz=UTC)
            assert event.happened_at <= sent_at, "early"
            assert body["data"]["state"] == "retracted" or event.object_id not in retracted
        assert not last.keys() & {article.pk for article in self._later}
        return len(events)


def retracted() -> set[int]:
    """The articles that are retracted now."""
    return set(Article.objects.filter(status=Status.RETRACTED).values_list("pk", flat=True))
