"""One answer to "what is it now?": editor, list, palette, desk API and readers agree around each instant."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from articles.models import Article, State
from tests.articles.factories import make_editor, soon
from tests.articles.situations import SITUATIONS, Situation, run_worker

pytestmark = pytest.mark.django_db(transaction=True)

LIST = "/admin/articles/article/"
API = "/api/v1/desk/articles/"
STAGES = {
    State.APPROVED: "ready",
    State.SCHEDULED: "scheduled",
    State.LIVE: "published",
    State.UNPUBLISHED: "unpublished",
    State.RETRACTED: "retracted",
}
LABELS = {State.SCHEDULED: "Scheduled", State.LIVE: "Published", State.UNPUBLISHED: "Unpublished"}
SECOND = timedelta(seconds=1)

each_moment = pytest.mark.parametrize(
    ("is_past", "has_run"),
    [
        pytest.param(False, False, id="before", marks=pytest.mark.thorough),
        pytest.param(True, False, id="no worker"),
        pytest.param(True, True, id="worker"),
    ],
)


@pytest.fixture
def desk(client: Client) -> Client:
    client.force_login(make_editor())
    return client


def situations(*, is_past: bool, has_run: bool) -> dict[str, tuple[Situation, State]]:
    """All situations a second after their instant or minutes before, and the states that readers see."""
    at = soon(seconds=-1 if is_past else 600)
    built = {name: build(at) for name, build in SITUATIONS.items()}
    if has_run:
        run_worker()
    now = at + SECOND if is_past else at - SECOND
    return {name: (one, one.expected(now)) for name, one in built.items()}


@each_moment
def test_the_newsroom_says_what_readers_see(desk: Client, subtests: Any, is_past: bool, has_run: bool) -> None:  # noqa: FBT001
    found = situations(is_past=is_past, has_run=has_run)
    stages = {stage: ids(desk.get(f"{LIST}?stage={stage}")) for stage in STAGES.values()}
    states = {state: results(desk.get(f"{API}?state={state}")) for state in State}
    statuses = {status: results(desk.get(f"{API}?status={status}")) for status in Article.Status.values}
    for name, (one, state) in found.items():
        with subtests.test(name):
            pk = one.article.pk
            assert shown_to_readers(one.article) == (state is State.LIVE)
            assert_editor_says(desk.get(f"{LIST}{pk}/change/").context, state)
            assert containing(stages, pk) == ([STAGES[state]] if state in STAGES else [])
            said = desk.get(f"{API}{pk}/").json()
            assert (said["state"], containing(states, pk)) == (state, [state])
            assert (said["published_at"] is not None) == (state in (State.LIVE, State.UNPUBLISHED))
            assert (said["status"] == Article.Status.PUBLISHED) == (state is State.LIVE)
            assert containing(statuses, pk) == [said["status"]]


def assert_editor_says(context: Any, state: State) -> None:
    """The article form describes and offers what is true by the clock."""
    assert context["is_live"] == (state is State.LIVE)
    assert context["stage"] == LABELS.get(state, context["stage"])
    actions = context["actions"]
    names = {action.name for action in (actions.primary, *actions.alternatives, *actions.removals) if action}
    assert ("_step_unpublish" in names) == (state is State.LIVE)
    assert ("_step_republish" in names) == (state is State.UNPUBLISHED)


def test_a_refused_form_describes_the_stored_article(desk: Client) -> None:
    found = SITUATIONS["article"](soon(seconds=30))
    page = f"{LIST}{found.article.pk}/change/"
    form = {field.name: field.value() or "" for field in desk.get(page).context["adminform"].form}
    wall = (found.at - timedelta(days=3)).strftime("%Y-%m-%dT%H:%M:%S")
    refused = desk.post(page, {**form, "publish_at": wall, "publish_at_0": wall, "_step_schedule": "1"})
    assert refused.status_code == 200
    assert (refused.context["stage"], refused.context["is_live"]) == ("Scheduled", False)
    assert "Went live" not in refused.context["state"]
    assert "This time is past" in refused.text and "Please correct" not in refused.text, "there is no error below"


def shown_to_readers(article: Article) -> bool:
    return Client().get(f"/api/v1/articles/{article.pk}/").status_code == 200


def ids(page: Any) -> set[int]:
    return {article.pk for article in page.context["cl"].result_list}


def results(answer: Any) -> set[int]:
    return {row["id"] for row in answer.json()["results"]}


def containing(found: Mapping[Any, set[int]], pk: int) -> list[Any]:
    """The filters that find the article."""
    return [key for key, found_ids in found.items() if pk in found_ids]
