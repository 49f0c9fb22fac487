"""One answer to "what is it now?": editor, list, palette, desk API and readers agree around each instant."""

from __future__ import annotations

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
    ("is_past", "has_run"), [(False, False), (True, False), (True, True)], ids=["before", "no worker", "worker"]
)


@pytest.fixture
def desk(client: Client) -> Client:
    client.force_login(make_editor())
    return client


def situation(name: str, *, is_past: bool, has_run: bool) -> tuple[Situation, State]:
    """The situation a second before or after its instant, and the state that readers see."""
    found = SITUATIONS[name](soon(seconds=-1 if is_past else 30))
    if has_run:
        run_worker()
    return found, found.expected(found.at + SECOND if is_past else found.at - SECOND, has_run=has_run)


@each_moment
@pytest.mark.parametrize("name", SITUATIONS)
def test_the_newsroom_says_what_readers_see(name: str, is_past: bool, has_run: bool, desk: Client) -> None:  # noqa: FBT001
    found, state = situation(name, is_past=is_past, has_run=has_run)
    pk = found.article.pk
    assert shown_to_readers(desk, found.article) == (state is State.LIVE)
    editor = desk.get(f"{LIST}{pk}/change/")
    assert editor.context["is_live"] == (state is State.LIVE)
    assert editor.context["stage"] == LABELS.get(state, editor.context["stage"])
    listed = {stage for stage in STAGES.values() if pk in ids(desk.get(f"{LIST}?stage={stage}"))}
    assert listed == ({STAGES[state]} if state in STAGES else set())
    said = desk.get(f"{API}{pk}/").json()
    assert said["state"] == state
    assert (said["published_at"] is not None) == (state in (State.LIVE, State.UNPUBLISHED))
    assert (said["status"] == Article.Status.PUBLISHED) == (state is State.LIVE)
    filtered = {one for one in State if pk in {row["id"] for row in desk.get(f"{API}?state={one}").json()["results"]}}
    assert filtered == {state}
    statuses = Article.Status.values
    by_status = [value for value in statuses if pk in results(desk.get(f"{API}?status={value}"))]
    assert by_status == [said["status"]]


@each_moment
@pytest.mark.parametrize("name", SITUATIONS)
def test_the_editor_offers_what_is_possible_by_the_clock(name: str, is_past: bool, has_run: bool, desk: Client) -> None:  # noqa: FBT001
    found, state = situation(name, is_past=is_past, has_run=has_run)
    actions = desk.get(f"{LIST}{found.article.pk}/change/").context["actions"]
    names = {action.name for action in (actions.primary, *actions.alternatives, *actions.removals) if action}
    assert ("_step_unpublish" in names) == (state is State.LIVE)
    assert ("_step_republish" in names) == (state is State.UNPUBLISHED)


def test_a_refused_form_describes_the_stored_article(desk: Client) -> None:
    found, _state = situation("article", is_past=False, has_run=False)
    page = f"{LIST}{found.article.pk}/change/"
    form = {field.name: field.value() or "" for field in desk.get(page).context["adminform"].form}
    wall = (found.at - timedelta(days=3)).strftime("%Y-%m-%dT%H:%M:%S")
    refused = desk.post(page, {**form, "publish_at": wall, "publish_at_0": wall, "_step_schedule": "1"})
    assert refused.status_code == 200
    assert (refused.context["stage"], refused.context["is_live"]) == ("Scheduled", False)
    assert "Went live" not in refused.context["state"]
    assert "This time is past" in refused.text and "Please correct" not in refused.text, "there is no error below"


def shown_to_readers(desk: Client, article: Article) -> bool:
    return Client().get(f"/api/v1/articles/{article.pk}/").status_code == 200


def ids(page: Any) -> set[int]:
    return {article.pk for article in page.context["cl"].result_list}


def results(answer: Any) -> set[int]:
    return {row["id"] for row in answer.json()["results"]}
