"""Pushes under attack: by hurried editors, by clocks, and by services that fail while others ask for a pause."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from articles.alerts import save_alert
from articles.models import Alert, Push
from articles.push.plan import plan
from tests.articles.factories import make_editor, soon
from tests.articles.push.services import PushService, push_due, serving
from tests.articles.push.test_push import KEY, armed, publish, subscribed

pytestmark = pytest.mark.django_db(transaction=True)

State = Push.State


@pytest.fixture
def service(settings: Any) -> Iterator[PushService]:
    settings.PUSH_KEY, settings.PUSH_QUIET_HOURS = KEY, None
    with serving(settings) as one:
        yield one


def test_an_alert_that_gets_a_later_time_is_not_pushed_before_it(service: PushService) -> None:
    alice = make_editor()
    subscribed(service, "a")
    alert = armed(alice)
    publish(alert, alice)
    plan()
    save_alert(alert.article_id, {"starts_at": soon(minutes=30)}, by=alice, pk=alert.pk)
    push_due()
    assert (service.requests, Push.objects.get().state) == ([], State.SENDING)
    Alert.objects.update(starts_at=soon(seconds=-1))
    Push.objects.update(due_at=soon(seconds=-1))
    push_due()
    assert service.paths == ["/a"]
