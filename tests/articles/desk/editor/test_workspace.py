"""The article editor's bar, panel and publish sheet: what they offer, to whom, with and without scripts."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client

from articles import publishing
from articles.limits import MOST_COVERS, MOST_TAGS
from articles.models import Article, Tag
from articles.roles import Role
from articles.workflow import Transition
from tests.articles.desk.articles.test_admin import form_address, form_of, logged_in, press, wall
from tests.articles.factories import APPROVED, make_article, make_channel, make_editor, make_member, make_user, soon
from tests.headline.api_document import api_document

pytestmark = pytest.mark.django_db

Status = Article.Status


def bar(user: User, article: Article) -> tuple[str, list[str], list[str]]:
    """The names of the primary action, its alternatives and the removals that the form offers."""
    found = logged_in(user).get(form_address(article)).context["actions"]
    name = [action.value if action.has_sheet else action.name for action in [found.primary] if action]
    alternatives, removals = ([action.name for action in each] for each in (found.alternatives, found.removals))
    return (name or [""])[0], alternatives, removals


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("status", "role", "expected"),
    [
        (Status.DRAFT, Role.AUTHOR, "_step_submit"),
        (Status.MANUAL_REVIEW, Role.REVIEWER, "_step_approve"),
        (Status.MANUAL_REVIEW, Role.PUBLISHER, ""),
        (Status.MANUALLY_APPROVED, Role.PUBLISHER, Transition.SCHEDULE),
        (Status.UNPUBLISHED, Role.PUBLISHER, "_step_republish"),
    ],
)
def test_the_primary_action_follows_from_status_and_rights(status: Status, role: Role, expected: str) -> None:
    user = make_member(role)
    article = make_article(status=status, author=user if role is Role.AUTHOR else make_user("ada"))
    assert bar(user, article)[0] == expected


def test_a_scheduled_article_is_moved_without_a_sheet_and_removals_stay_apart() -> None:
    editor = make_editor()
    waiting = make_article(status=APPROVED, publish_at=soon(hours=1))
    primary, alternatives, removals = bar(editor, waiting)
    assert primary == "_step_schedule"
    assert {"_step_submit", "_step_unschedule", "_step_publish_now", "_save"} == set(alternatives)
    live = make_article("Live", status=Status.PUBLISHED, publish_at=soon(hours=-1))
    assert bar(editor, live)[2] == ["_step_unpublish", "_step_retract"]


def test_a_live_text_is_not_submitted_before_it_is_changed() -> None:
    editor, live = make_editor(), make_article(status=Status.PUBLISHED, publish_at=soon(hours=-1))
    client = logged_in(editor)

    def waits(page: Any) -> bool:
        return bool(page.context["actions"].primary.needs_change)

    assert waits(client.get(form_address(live)))
    assert not waits(client.post(form_address(live), {**form_of(client, live), "title": ""}))
    press(client, live, "_continue", title="Newer")
    assert not waits(client.get(form_address(live)))


def test_an_update_is_published_once_it_is_approved() -> None:
    editor, reviewer = make_editor(), make_editor("bob")
    live = make_article(status=Status.PUBLISHED, publish_at=soon(hours=-1), author=editor)
    publishing.edit(live, by=editor, changes={"title": "Newer"})
    assert bar(editor, live)[0] == "_step_submit"
    publishing.submit(live, by=editor)
    assert bar(reviewer, live)[0] == "_step_approve"
    publishing.approve(live, by=reviewer, revision=publishing.for_review(live))
    assert bar(editor, Article.objects.get())[0] == "_step_publish_update"


def test_every_action_and_field_is_in_the_page_without_scripts() -> None:
    page = logged_in(make_editor()).get(form_address(make_article())).text
    for name in ("title", "summary", "body", "channel", "publish_at", "cover_mode", "slug", "tags", "author", "byline"):
        assert re.search(rf'<(?:input|select|textarea)[^>]* name="{name}"', page), name
    assert {'name="_continue"', 'name="_save"', 'name="_step_submit"'} <= set(re.findall(r'name="_\w+"', page))
    assert page.index('id="panel-publish"') < page.index('id="panel-cover"') < page.index('id="panel-activity"')


def sheet(client: Client, article: Article, transition: str = "schedule", *, query: str = "", **changes: Any) -> Any:
    """The publish sheet for the form with these changes."""
    sent = {**form_of(client, article), **changes, "sheet": transition}
    return client.post(form_address(article).replace("change/", f"sheet/{query}"), sent)


def test_tags_are_added_by_name_without_scripts() -> None:
    client = logged_in(make_editor())
    article, tags = make_article(), [Tag.objects.create(name=name) for name in ("Harbour", "City", "Bridge")]
    article.tags.add(tags[0])
    assert "more_tags" in client.get(form_address(article)).text
    refused = press(client, article, "_continue", more_tags="City, Town")
    assert "There is no tag with this name: Town." in refused.text
    press(client, article, "_continue", more_tags="City， Bridge")  # noqa: RUF001 (a Chinese comma)
    assert {*article.tags.values_list("name", flat=True)} == {"Harbour", "City", "Bridge"}


@pytest.mark.thorough
def test_the_form_takes_as_many_tags_as_the_api() -> None:
    client, article = logged_in(make_editor()), make_article()
    tags = Tag.objects.bulk_create(Tag(name=f"Tag {number}", slug=f"tag-{number}") for number in range(MOST_TAGS + 1))
    refused = press(client, article, "_continue", tags=[tag.pk for tag in tags])
    assert "At most 50 tags are possible; there are 51." in refused.text
    press(client, article, "_continue", tags=[tag.pk for tag in tags[1:]])
    assert article.tags.count() == MOST_TAGS
    limits = {name: of["maxItems"] for name, of in _schema("DeskArticleRequest").items() if "maxItems" in of}
    assert limits == {"cover": MOST_COVERS, "tags": MOST_TAGS}


def _schema(name: str) -> dict[str, Any]:
    """The fields of a schema of the OpenAPI document."""
    fields: dict[str, Any] = api_document()["components"]["schemas"][name]["properties"]
    return fields


@pytest.mark.parametrize(("second", "clock"), [(0, "%H:%M"), (34, "%H:%M:%S")])
def test_the_sheet_shows_what_when_and_the_open_checks_and_saves_nothing(second: int, clock: str) -> None:
    client, article = logged_in(make_editor()), make_article(status=APPROVED, channel=make_channel())
    moment = soon(hours=30).replace(second=second, microsecond=0)
    page = sheet(client, article, query="?dialog=1", publish_at=wall(moment))
    assert '<dialog class="sheet"' in page.text
    assert article.title in page.text
    assert f"Schedule for {moment:%a} {moment.day} {moment:%b}, {moment.strftime(clock)}<" in page.text
    assert f"{moment:%A} {moment.day} {moment:%B} {moment.strftime(clock)} (UTC)" in page.text
    assert "There is no summary." in page.text
    assert Article.objects.get().publish_at is None


def test_without_scripts_the_sheet_is_a_page_that_schedules() -> None:
    client, article = logged_in(make_editor()), make_article(status=APPROVED)
    page = sheet(client, article, preset="tomorrow", summary="Typed since")
    assert "<dialog" not in page.text
    fields = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page.text)
    time = re.search(r'name="publish_at" value="(\d{4}-\d\d-\d\d \d\d:\d\d)"', page.text)
    assert time
    assert ("summary", "Typed since") in fields
    client.post(form_address(article), {**dict(fields), "publish_at": time[1], "_step_schedule": "1"})
    saved = Article.objects.get().publish_at
    assert saved is not None
    assert f"{saved:%Y-%m-%d %H:%M}" == time[1]


def test_the_sheet_says_what_is_wrong_with_the_time() -> None:
    client, article = logged_in(make_editor()), make_article(status=APPROVED)
    page = sheet(client, article, query="?dialog=1", publish_at="soon")
    assert "Enter a date and a time" in page.text
    assert re.search(r'name="_step_schedule" value="1" disabled', page.text)


def test_the_sheet_gives_the_times_of_other_articles_in_the_zone_of_its_form() -> None:
    client, channel, moment = logged_in(make_editor()), make_channel(), datetime(2029, 12, 31, 23, tzinfo=UTC)
    make_article("Other", status=APPROVED, channel=channel, publish_at=moment)
    article = make_article(status=APPROVED, channel=channel)
    page = sheet(client, article, publish_at="2030-01-01T07:00", publish_at_zone="Asia/Shanghai")
    assert "“Other” in the same channel goes live at 07:00:00." in page.text


def test_the_sheet_asks_for_the_time_and_lists_it_under_no_open_check() -> None:
    client, article = logged_in(make_editor()), make_article(status=APPROVED)
    page = sheet(client, article, query="?dialog=1")
    assert "No channel is chosen." in page.text
    assert "No publish time is set." not in page.text


def test_the_sheet_is_for_those_who_may_schedule() -> None:
    article = make_article(status=APPROVED, author=make_user("ada"))
    reviewer = logged_in(make_member(Role.REVIEWER))
    address = form_address(article).replace("change/", "sheet/")
    assert reviewer.post(address, {"sheet": "schedule"}).status_code == 403
    assert logged_in(make_editor()).post(address, {"sheet": "nonsense"}).status_code == 302


def test_the_checks_read_what_is_typed_by_this_user_in_this_window() -> None:
    editor, article = make_editor(), make_article(channel=make_channel(), summary="Short.", publish_at=soon(hours=1))
    client, window = logged_in(editor), str(uuid4())
    typed = {name: [value] for name, value in form_of(client, article).items() if isinstance(value, str)}
    body = {"user": editor.pk, "article": article.pk, "number": 1, "typed": {**typed, "title": ["x" * 80]}}
    client.post(f"/admin/articles/article/autosave/{window}/", body, content_type="application/json")
    address = f"/admin/articles/article/checks/?article={article.pk}&copy="
    assert "The headline has 80 characters" in client.get(address + window).text
    assert "The headline has" not in client.get(address).text
    assert "The headline has" not in logged_in(make_editor("bob")).get(address + window).text
    assert logged_in(make_user("eve")).get(address).status_code == 403


def test_who_changed_the_time_is_in_the_activity() -> None:
    client, article = logged_in(make_editor()), make_article(status=APPROVED, publish_at=soon(hours=1))
    press(client, article, "_save", publish_at=wall(soon(hours=2)))
    page = client.get(form_address(article)).text
    entry = re.search(r'<li class="is-about-time">.*?</li>', page, re.DOTALL)
    assert entry
    assert "alice" in entry[0]
    assert "→" in entry[0]
