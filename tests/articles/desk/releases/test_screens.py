"""The admin of releases: contents, confirmations and refusals."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from playwright.sync_api import Locator, Page, expect

from articles import publishing, releases
from articles.exceptions import NotAllowed
from articles.models import Article, Notification, Release, ReleaseMember
from articles.releases.reconcile import fail
from articles.roles import Role
from tests.articles.browsers import sign_in
from tests.articles.factories import APPROVED, make_article, make_editor, make_member, make_release, make_user, soon
from tests.articles.situations import SITUATIONS, failing_release, run_worker

pytestmark = pytest.mark.django_db

LIST = "/admin/articles/release/"
Status = Article.Status


@pytest.fixture
def irene() -> User:
    return make_editor("irene")


@pytest.fixture
def desk(irene: User) -> Client:
    client = Client()
    client.force_login(irene)
    return client


def address(release: Release) -> str:
    return f"{LIST}{release.pk}/change/"


def shown(response: Any) -> str:
    return " ".join(str(message) for message in get_messages(response.wsgi_request))


def test_a_release_is_prepared_filled_scheduled_and_published_on_its_page(desk: Client) -> None:
    make_article("Budget passed", status=APPROVED)
    make_article("Weather")
    response = desk.post(f"{LIST}add/", {"name": "Budget day"})
    release = Release.objects.get()
    assert response["Location"] == address(release)

    found = desk.get(address(release), {"q": "budget"}).context["found"]
    assert [article.title for article, _state in found] == ["Budget passed"]
    desk.post(f"{LIST}{release.pk}/members/", {"article": [found[0][0].pk], "action": ""})
    assert "Ready to publish" in desk.get(address(release)).content.decode()

    due = soon(hours=1).replace(microsecond=0)
    time = due.replace(tzinfo=None).isoformat()
    response = desk.post(f"{LIST}{release.pk}/schedule/", {"publish_at": time, "publish_at_which": ""})
    release.refresh_from_db()
    assert (release.status, release.publish_at) == (Release.Status.SCHEDULED, due)
    assert "All articles go live, or none" in shown(response)

    ask = f"{LIST}{release.pk}/publish_release/ask/"
    assert "All of these go live as soon as" in desk.get(ask).content.decode()
    assert not Article.objects.filter(status=Status.PUBLISHED).exists()
    desk.post(ask)
    assert Article.objects.filter(status=Status.PUBLISHED).count() == 1


def test_the_page_says_beside_each_article_what_is_wrong_and_where_to_repair_it(desk: Client, irene: User) -> None:
    draft = make_article("Draft")
    release = make_release(draft, make_article("Fine", status=APPROVED), by=irene)
    html = desk.get(address(release)).content.decode()
    assert "1 entry has blocking issues" in html
    assert "It is a draft. Submit it for review." in html
    assert f'href="/admin/articles/article/{draft.pk}/change/" aria-label="Fix: Draft"' in html
    ask = desk.get(f"{LIST}{release.pk}/publish_release/ask/").content.decode()
    assert "Preflight check failed" in ask
    assert "<button class" not in ask.partition("release-steps")[2]


def test_scheduling_a_release_with_a_blocking_issue_is_no_success(desk: Client, irene: User) -> None:
    release = make_release(make_article("Ready", status=APPROVED), make_article("Draft"), by=irene)
    due = soon(hours=1).replace(microsecond=0, tzinfo=None).isoformat()
    response = desk.post(f"{LIST}{release.pk}/schedule/", {"publish_at": due, "publish_at_which": ""})
    release.refresh_from_db()
    assert release.status == Release.Status.SCHEDULED
    (message,) = get_messages(response.wsgi_request)
    assert message.level_tag == "warning"
    assert "The release cannot be published: there is 1 blocking issue." in str(message)


def test_a_dry_run_is_shown_and_changes_nothing(desk: Client, irene: User) -> None:
    release = make_release(make_article("Fine", status=APPROVED), by=irene)
    html = desk.post(f"{LIST}{release.pk}/dry_run/").content.decode()
    assert "Fine: Approved, revision 1 → Published, revision 1" in html
    assert not Article.objects.filter(status=Status.PUBLISHED).exists()


def test_a_roll_back_is_asked_about_first(desk: Client, irene: User) -> None:
    release = make_release(make_article("Fine", status=APPROVED), by=irene)
    releases.publish_release_now(release, by=irene)
    ask = f"{LIST}{release.pk}/roll_back_release/ask/"
    assert "Readers will no longer see it" in desk.get(ask).content.decode()
    response = desk.post(ask)
    assert "and rolled back" in shown(response)
    assert Article.objects.get().status == APPROVED
    desk.post(f"{LIST}{release.pk}/reopen_release/ask/")
    desk.post(f"{LIST}{release.pk}/cancel_release/ask/")
    response = desk.post(f"{LIST}{release.pk}/delete_release/ask/")
    assert (response["Location"], Release.objects.count()) == (LIST, 0)


def test_a_time_that_does_not_exist_is_refused_on_the_page(desk: Client, irene: User, settings: Any) -> None:
    settings.TIME_ZONE = "Europe/Berlin"
    release = make_release(make_article(status=APPROVED), by=irene)
    sent = {"publish_at": "2027-03-28T02:30:00", "publish_at_which": ""}
    html = desk.post(f"{LIST}{release.pk}/schedule/", sent).content.decode()
    assert "does not exist in Europe/Berlin" in html
    release.refresh_from_db()
    assert release.publish_at is None


def test_a_release_is_not_scheduled_without_a_time(desk: Client, irene: User) -> None:
    release = make_release(make_article(status=APPROVED), by=irene)
    page = desk.post(f"{LIST}{release.pk}/schedule/", {"publish_at_zone": "UTC", "publish_at": ""})
    assert "This field is required." in page.text
    release.refresh_from_db()
    assert release.status == Release.Status.DRAFT


def test_an_article_is_removed_or_unpublished_instead(desk: Client, irene: User) -> None:
    out = make_article("Out", status=Status.PUBLISHED, publish_at=soon(days=-1))
    publishing.edit(out, by=irene, changes={"body": "Better"})
    release = make_release(Article.objects.get(), by=irene)
    assert "Unpublish it instead" in desk.get(address(release)).content.decode()
    desk.post(f"{LIST}{release.pk}/members/", {"article": [out.pk], "action": "unpublish"})
    member = release.members.get()
    assert member.action == ReleaseMember.Action.UNPUBLISH
    desk.post(f"{LIST}{release.pk}/members/{member.pk}/remove/")
    assert not release.members.exists()


def test_chosen_articles_of_the_list_come_into_a_new_release_or_one_that_is_there(desk: Client) -> None:
    articles = [make_article(f"No. {number}", status=APPROVED) for number in range(3)]
    gone = make_article("Killed", status=Status.RETRACTED)
    sent = {"action": "add_to_release", "_selected_action": [article.pk for article in (*articles[:2], gone)]}
    asked = desk.post("/admin/articles/article/", sent)
    assert "Name of the new release" in asked.content.decode()
    assert "name a new one" in desk.post("/admin/articles/article/", {**sent, "what": ""}).content.decode()

    response = desk.post("/admin/articles/article/", {**sent, "what": "", "name": "Budget day"})
    release = Release.objects.get()
    assert response["Location"] == address(release)
    assert "2 articles are in the release" in shown(response)
    assert "“Killed” is “Retracted”" in shown(response)

    more = {"action": "add_to_release", "_selected_action": [articles[2].pk], "what": "", "release": release.pk}
    desk.post("/admin/articles/article/", more)
    assert release.members.count() == 3


def test_the_article_s_form_names_its_release_and_offers_no_time_of_its_own(desk: Client, irene: User) -> None:
    article = make_article(status=APPROVED)
    release = make_release(article, by=irene)
    html = desk.get(f"/admin/articles/article/{article.pk}/change/").content.decode()
    assert f'href="{address(release)}">Budget day</a>' in html
    assert 'name="publish_at"' not in html
    assert "_step_publish_now" not in html
    releases.cancel_release(release, by=irene)
    html = desk.get(f"/admin/articles/article/{article.pk}/change/").content.decode()
    assert ('name="publish_at"' in html, "In release" in html) == (True, False)


def test_the_list_shows_time_size_and_what_stands_in_the_way(desk: Client, irene: User) -> None:
    make_release(make_article("Draft"), make_article("Fine", status=APPROVED), by=irene)
    releases.schedule_release(Release.objects.get(), publish_at=soon(hours=1), by=irene)
    html = desk.get(LIST).content.decode()
    for text in ("Budget day", "Scheduled", "UTC", "1 blocking issue", "irene"):
        assert text in html


@pytest.mark.cases(2)
@pytest.mark.parametrize("screen", ["list", "page", "question", "dashboard"])
def test_the_screens_read_no_texts(screen: str, desk: Client, irene: User) -> None:
    """A release may have five hundred long ones."""
    release = make_release(make_article("Draft", body="x" * 1000), by=irene)
    releases.schedule_release(release, publish_at=soon(hours=1), by=irene)
    page = address(release)
    asked = {
        "list": LIST,
        "page": page,
        "question": page.replace("change", "cancel_release/ask"),
        "dashboard": "/admin/",
    }
    with CaptureQueriesContext(connection) as captured:
        assert desk.get(asked[screen]).status_code == 200
    of_members = [query["sql"] for query in captured.captured_queries if "releasemember" in query["sql"]]
    assert of_members
    assert not any("body" in statement for statement in of_members)


def test_the_start_page_counts_down_to_a_release_and_names_one_that_failed(desk: Client, irene: User) -> None:
    release = make_release(make_article("Draft"), by=irene)
    releases.schedule_release(release, publish_at=soon(hours=1), by=irene)
    html = desk.get("/admin/").content.decode()
    assert f'href="{address(release)}">Budget day</a>' in html
    assert "1 article<" in html
    fail(release, "“Draft”: It is a draft.")
    trouble = desk.get("/admin/").content.decode().partition('id="dashboard-needs-attention"')[2]
    assert "“Draft”: It is a draft." in trouble.partition("</section>")[0]


def test_a_notice_about_a_release_leads_to_it(desk: Client, irene: User) -> None:
    release = make_release(make_article(status=APPROVED), by=make_editor())
    releases.publish_release_now(release, by=make_member(Role.CHIEF))
    notice = Notification.objects.get(user=irene, release=release)
    assert desk.get(f"/admin/articles/notification/{notice.pk}/change/")["Location"] == address(release)


@pytest.mark.cases(2)
@pytest.mark.parametrize("role", [Role.AUTHOR, Role.EDITOR, Role.REVIEWER, Role.OPERATOR])
def test_others_read_the_page_and_their_buttons_do_nothing(role: Role, irene: User) -> None:
    release = make_release(make_article("Fine", status=APPROVED), by=irene)
    client = Client()
    client.force_login(make_member(role))
    html = client.get(address(release)).content.decode()
    assert ("Fine" in html, "desk-main" in html, "/ask/" in html) == (True, False, False)
    assert client.get(f"{LIST}add/").status_code == 403
    client.post(f"{LIST}{release.pk}/members/", {"article": [make_article().pk]})
    client.post(f"{LIST}{release.pk}/rename/", {"name": "Mine"})
    for transition in ("publish_release", "cancel_release", "delete_release"):
        client.post(f"{LIST}{release.pk}/{transition}/ask/")
    release.refresh_from_db()
    assert (release.name, release.status, release.members.count()) == ("Budget day", Release.Status.DRAFT, 1)
    actions = client.get("/admin/articles/article/").content.decode()
    assert "add_to_release" not in actions


def test_addresses_that_are_made_up_are_not_found(desk: Client, irene: User) -> None:
    release = make_release(by=irene)
    for made_up in (f"{LIST}x/change/", f"{LIST}99999/change/", f"{LIST}{release.pk}/change_release/ask/"):
        assert desk.get(made_up).status_code == 404
    assert desk.get(f"{LIST}{release.pk}/dry_run/").status_code == 405
    burned = {"article": make_article().pk, "action": "burn"}
    assert desk.post(f"{LIST}{release.pk}/members/", burned).status_code == 404


def test_strangers_see_nothing_of_releases(irene: User) -> None:
    release = make_release(by=irene)
    client = Client()
    client.force_login(User.objects.create_user("clerk", is_staff=True))
    for place in (LIST, address(release), f"{LIST}{release.pk}/publish_release/ask/"):
        assert client.get(place).status_code == 403


@pytest.mark.django_db(transaction=True)
def test_a_release_of_20_is_repaired_and_published_in_a_browser(page: Page) -> None:
    """A reader's open page shows all 20 by itself; the editor has a phone's screen and uses the keyboard alone."""
    irene = make_user("alice", is_superuser=True)
    articles = [make_article(f"Budget, part {number}", status=APPROVED) for number in range(19)]
    last = make_article("Budget, part 19", status=Status.MANUAL_REVIEW)
    release = make_release(*articles, last, by=irene)
    page.goto("/")
    reader, editor = page, page.context.new_page()
    editor.set_viewport_size({"width": 390, "height": 900})
    sign_in(editor)
    editor.goto(address(release))
    expect(editor.get_by_text("1 entry has blocking issues")).to_be_visible()
    assert editor.evaluate("document.documentElement.scrollWidth") <= 390
    press(editor.get_by_role("link", name="Fix: Budget, part 19"))
    press(editor.get_by_role("button", name="Approve"))
    press(editor.get_by_role("tab", name="Publish"))
    expect(editor.get_by_text("In release")).to_be_visible()
    press(editor.get_by_role("link", name="Budget day"))
    expect(editor.get_by_text("Ready to publish")).to_be_visible()
    press(editor.get_by_role("link", name="Publish release now"))
    expect(reader.get_by_role("link", name="Budget, part")).to_have_count(0)
    press(editor.get_by_role("button", name="Publish release now"))
    expect(editor.get_by_text("Published on").first).to_be_visible()
    expect(reader.get_by_role("link", name="Budget, part")).to_have_count(20)


def press(target: Locator) -> None:
    """By the keyboard."""
    target.focus()
    target.press("Enter")


# By the clock


def test_an_overdue_release_leads_the_list_and_is_red(desk: Client, irene: User) -> None:
    made = failing_release(soon(minutes=-1))
    for name in ("Later", "Draft"):
        release = make_release(make_article(name, status=APPROVED), by=irene, name=name)
        if name == "Later":
            releases.schedule_release(release, publish_at=soon(hours=1), by=irene)
    page = desk.get(LIST)
    assert [str(release) for release in page.context["cl"].result_list] == [str(made), "Draft", "Later"]
    assert len(re.findall(r">\s*Overdue\s*<", page.text)) == 1
    assert desk.get(address(made)).context["badge"] == ("danger", "Overdue")
    run_worker()
    page = desk.get(LIST)
    assert [str(release) for release in page.context["cl"].result_list] == ["Draft", "Later", str(made)]
    assert "Overdue" not in page.text


@pytest.mark.cases(2)
@pytest.mark.parametrize("has_run", [False, True], ids=["no worker", "worker"])
@pytest.mark.parametrize("seconds", [60, -10], ids=["before", "after"])
def test_members_and_articles_to_add_have_the_state_that_readers_see(desk: Client, has_run: bool, seconds: int) -> None:
    member, article, end = (SITUATIONS[name](soon(seconds=seconds)) for name in ("member", "article", "end"))
    if has_run:
        run_worker()
    assert member.release is not None
    (row,) = desk.get(address(member.release)).context["rows"]
    assert row["stage"] == ("Published" if seconds < 0 else "Scheduled")
    draft = make_release(by=User.objects.get(username="irene"), name="Other")
    found = desk.get(address(draft), {"q": "timetable"}).context["found"]
    assert [(str(one), state.label) for one, state in found] == [
        (article.article.title, "Published" if seconds < 0 else "Scheduled")
    ]
    found = desk.get(address(draft), {"q": "summer"}).context["found"]
    assert [one for one, _state in found] == ([] if seconds < 0 else [end.article])


def test_a_time_or_name_that_is_refused_stays_in_its_field(desk: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    release = make_release(make_article(), by=make_editor("ida"))
    page = desk.post(f"{LIST}{release.pk}/schedule/", {"publish_at": "2001-01-01 07:00"})
    assert page.status_code == 200 and 'value="2001-01-01 07:00"' in page.text
    assert "This time is past" in shown(page)

    def refuse(*args: Any, **options: Any) -> None:
        raise NotAllowed

    monkeypatch.setattr(releases, "rename_release", refuse)
    page = desk.post(f"{LIST}{release.pk}/rename/", {"name": "Budget night"})
    assert page.status_code == 200 and 'value="Budget night"' in page.text
    assert str(NotAllowed.message) in shown(page)
