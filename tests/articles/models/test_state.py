"""What readers see of an article at an instant, in Python and in SQL, with a worker and without."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest

from articles.models import Article, State, in_states, state_at, with_releases
from articles.releases import as_due
from scheduling.database import read_database_clock
from tests.articles.factories import soon
from tests.articles.situations import SITUATIONS, Situation, run_worker, with_and_without_worker

pytestmark = pytest.mark.django_db(transaction=True)

Build = Callable[[datetime], Situation]

every = pytest.mark.parametrize("build", SITUATIONS.values(), ids=SITUATIONS)


def live_headlines() -> list[str]:
    return list(Article.objects.live(read_database_clock()).values_list("title", flat=True))


@pytest.mark.cases(11)
@every
@with_and_without_worker
@pytest.mark.parametrize("seconds", [-1, 60], ids=["after", "before"])
def test_one_state_is_given_by_function_and_query(build: Build, has_run: bool, seconds: int) -> None:
    situation = build(soon(seconds=seconds))
    if has_run:
        run_worker()
    now = read_database_clock()
    expected = situation.expected(now)
    with as_due():
        (article,) = with_releases(Article.objects.all())
        assert state_at(article, now).state is expected
        assert [state for state in State if Article.objects.filter(in_states([state], now))] == [expected]
        shown = [situation.headline(now)] if expected is State.LIVE else []
        assert live_headlines() == shown
