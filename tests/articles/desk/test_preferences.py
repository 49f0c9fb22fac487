"""Users' preferences in the admin: time zone and language."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client
from playwright.sync_api import Browser, expect

from articles import releases
from articles.models import Article, Notification, Preferences
from articles.notifications.mail import send_mail as send
from articles.releases.run import release_due
from scheduling.database import read_database_clock
from tests.articles.browsers import sign_in
from tests.articles.desk.articles.test_admin import form_address, press
from tests.articles.factories import APPROVED, make_article, make_editor, make_release, make_user, soon
from tests.conftest import Site

pytestmark = pytest.mark.django_db

MINE = "/admin/articles/preferences/"


@pytest.fixture
def editor(client: Client) -> User:
    user = make_editor()
    client.force_login(user)
    return user


def test_times_are_shown_and_typed_in_the_chosen_zone(client: Client, editor: User) -> None:
    article = make_article(status=APPROVED, publish_at=datetime(2030, 1, 1, 7, tzinfo=UTC))
    assert "7:00:00 UTC" in client.get(form_address(article)).text
    client.post(MINE, {"time_zone": "Asia/Shanghai", "language": ""})
    assert "15:00:00 Asia/Shanghai (UTC+8)" in client.get(form_address(article)).text
    press(client, article, "_save", publish_at="2030-01-02T00:00")
    assert Article.objects.get().publish_at == datetime(2030, 1, 1, 16, tzinfo=UTC)


def test_another_zone_chosen_in_another_window_moves_no_time_of_an_open_form(client: Client, editor: User) -> None:
    article = make_article(status=APPROVED, publish_at=datetime(2030, 1, 1, 7, tzinfo=UTC))
    page = client.get(form_address(article)).text
    shown = dict(re.findall(r'name="(publish_at\w*)" value="([^"]*)"', page))
    client.post(MINE, {"time_zone": "Asia/Shanghai", "language": ""})
    press(client, article, "_save", title="Only the headline", **shown)
    assert Article.objects.get().publish_at == datetime(2030, 1, 1, 7, tzinfo=UTC)


def test_the_zone_of_one_request_is_not_that_of_the_next(client: Client, editor: User) -> None:
    client.post(MINE, {"time_zone": "Asia/Shanghai", "language": "zh-hans"})
    assert "Asia/Shanghai" in client.get(MINE).context["now"]
    other = Client()
    other.force_login(make_editor("bob"))
    assert "Asia/Shanghai" not in other.get(MINE).context["now"]
    assert "Times in UTC" in client.get("/").text


def test_the_chosen_language_comes_before_that_of_the_browser(client: Client, editor: User) -> None:
    client.post(f"{MINE}language/", {"language": "zh-hans", "next": MINE})
    page = client.get("/admin/articles/article/", headers={"accept-language": "en"})
    assert page.headers["Content-Language"] == "zh-hans"
    assert "稿件" in page.text
    client.post(MINE, {"time_zone": "", "language": ""})
    client.cookies.clear()
    client.force_login(editor)
    assert client.get(MINE, headers={"accept-language": "en"}).headers["Content-Language"] == "en"


@pytest.mark.parametrize("wrong", [{"time_zone": "Mars/Olympus"}, {"language": "tlh"}])
def test_what_is_no_zone_or_language_is_refused(client: Client, editor: User, wrong: dict[str, str]) -> None:
    page = client.post(MINE, {"time_zone": "", "language": "", **wrong})
    assert page.context["form"].errors
    client.post(f"{MINE}language/", {"language": wrong.get("language", "")})
    assert not Preferences.objects.exists()


def test_a_zone_that_is_gone_costs_no_page(client: Client, editor: User) -> None:
    Preferences.objects.create(user=editor, time_zone="Old/Zone")
    assert client.get("/admin/articles/article/").status_code == 200


def test_mails_are_in_the_language_of_who_reads_them(editor: User) -> None:
    User.objects.update(email="alice@example.com")
    Preferences.objects.create(user=editor, language="zh-hans")
    notice = Notification.objects.create(
        user=editor, kind=Notification.Kind.REJECTED, article_title="Bridge", at=read_database_clock()
    )
    send(notice.pk)
    assert "Rejected" not in mail.outbox[0].subject


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
def test_the_zone_of_the_device_is_offered(browser: Browser, site: Site) -> None:
    make_editor()
    with browser.new_context(base_url=site.url, locale="en-US", timezone_id="Asia/Shanghai") as context:
        page = context.new_page()
        sign_in(page)
        page.goto(MINE)
        page.get_by_role("button", name="Use the time zone of this device: Asia/Shanghai").press("Enter")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("The time in your zone is")).to_contain_text("Asia/Shanghai (UTC+8)")


def test_why_a_release_failed_is_said_in_the_language_of_who_made_it(editor: User) -> None:
    Preferences.objects.create(user=editor, language="zh-hans")
    release = make_release(make_article("港口", status=Article.Status.MANUAL_REVIEW), by=editor)
    releases.schedule_release(release, publish_at=soon(seconds=-1), by=editor)

    release_due(release.pk, until=time.monotonic() + 1)

    release.refresh_from_db()
    assert release.reason == "“港口”: 审核人员尚未决定。"


@pytest.mark.parametrize(
    ("address", "content", "said"),
    [
        ("/api/v1/desk/articles/", {"title": "x", "publish_at": "2026-11-21T07:00:00"}, "时间没有时区"),
        ("/api/v1/tasks/", {"task_type": "mail", "execute_time": "2026-11-21T07:00:00"}, "时间没有时区"),
        ("/api/v1/token/", {}, "必填"),
    ],
)
def test_programs_are_refused_in_the_language_they_ask_for(
    client: Client, address: str, content: dict[str, str], said: str
) -> None:
    client.force_login(make_user("root", is_superuser=True))

    response = client.post(address, content, "application/json", headers={"accept-language": "zh-CN"})

    assert response.status_code == 400
    assert said in response.content.decode()


def test_a_preview_is_in_the_language_of_the_browser_like_the_readers_page(client: Client, editor: User) -> None:
    Preferences.objects.create(user=editor, language="en")
    article = make_article("港口", author=editor)

    page = client.get(f"/admin/articles/article/{article.pk}/preview/", headers={"accept-language": "zh-CN"})

    assert '<html lang="zh-hans">' in page.content.decode()
