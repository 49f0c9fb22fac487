"""The demo newsroom."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db.models import F
from django.test import Client
from pytest_django import Settings
from rest_framework.test import APIClient

from articles import releases
from articles.demo import create
from articles.demo.images import SCENES, painted
from articles.models import Article, Channel, FrontVersion, Image, ImageUse, Release
from articles.task_types import PUBLISH
from scheduling.database import read_database_clock
from scheduling.models import TaskInfo
from tests.articles.factories import make_article, publish_tasks, soon
from tests.articles.image_files import image_bytes
from tests.conftest import Manage
from tests.harness import base_dir

pytestmark = pytest.mark.django_db
Status = Article.Status
BULLETINS = 10


@pytest.fixture(autouse=True)
def _debugging(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small images: renditions of large ones are slow."""
    settings.DEBUG = True
    monkeypatch.setattr(create, "painted", lambda scene: image_bytes(size=(40, 30)))


def run_demo(*options: str) -> str:
    out = StringIO()
    call_command("demo", *options, stdout=out)
    return out.getvalue()


def ten_articles_go_live_one_by_one_within_two_minutes(printed: str) -> None:
    near = TaskInfo.objects.filter(task_type=PUBLISH, execute_time__lt=soon(minutes=2))
    times = sorted(near.values_list("execute_time", flat=True))
    assert len(set(times)) == len(times) == BULLETINS
    began = Article.objects.earliest("created_at").created_at
    assert times[0] - began > timedelta(seconds=20), "the newcomer needs a moment to open the page"


def there_is_an_article_in_every_status_a_user_sees(printed: str) -> None:
    states = set(Article.objects.values_list("status", flat=True))
    assert states == set(Status.values) - {Status.SUBMITTED, Status.RETRACTED}
    assert Article.objects.live(soon()).count() == Article.objects.filter(status=Status.PUBLISHED).count() > BULLETINS


def every_article_waiting_for_its_time_has_its_task(printed: str) -> None:
    for article in Article.objects.filter(status__in=Status.waiting(), memberships__isnull=True):
        assert publish_tasks(article) == [article.goes_live_at]


def a_release_in_both_languages_is_ready_to_be_published(printed: str) -> None:
    release = Release.objects.get()
    assert release.status == Release.Status.SCHEDULED
    assert releases.preflight(release) == []
    assert release.members.count() == 3
    assert TaskInfo.objects.get(task_type="articles.release").execute_time == release.publish_at


def the_texts_are_a_newsrooms_in_english_and_chinese(printed: str) -> None:
    titles = list(Article.objects.values_list("title", flat=True))
    chinese = [title for title in titles if re.search(r"[\u4e00-\u9fff]", title)]
    assert len(titles) == len(set(titles))
    assert len(titles) / 3 < len(chinese) < len(titles) * 2 / 3
    for article in Article.objects.all():
        assert article.summary
        assert article.slug
        assert 2 <= article.body.count("<p>") <= 4
        assert article.tags.exists()


def some_articles_have_images(printed: str) -> None:
    assert ImageUse.objects.values("image").distinct().count() == Image.objects.count() == 3
    assert [Client().get(address).text.count("<picture>") for address in ("/en/", "/zh-hans/")] == [2, 1]


def it_prints_log_ins_that_work_and_when_what_goes_live(printed: str) -> None:
    for user in User.objects.all():
        assert re.search(rf"^  {user.username} +headline ", printed, re.MULTILINE)
        assert Client().login(username=user.username, password="headline")
    assert "Goes live by itself (UTC)" in printed
    assert Release.objects.get().name in printed
    for article in Article.objects.filter(status__in=Status.waiting(), memberships__isnull=True):
        assert f"{article.goes_live_at:%Y-%m-%d %H:%M:%S}" in printed
        assert article.title in printed


def each_role_may_do_its_own_part(printed: str) -> None:
    may = {name: User.objects.get(username=name).has_perm for name in ("author", "reviewer", "publisher", "operator")}
    assert may["author"]("articles.add_article")
    assert not may["author"]("articles.publish_article")
    assert may["reviewer"]("articles.review_article")
    assert not may["reviewer"]("articles.change_article")
    assert may["publisher"]("articles.publish_article")
    assert may["operator"]("scheduling.operate_tasks")
    assert User.objects.get(username="admin").is_superuser


def the_chief_sees_when_an_article_went_live_as_the_readme_says(printed: str) -> None:
    client = Client()
    client.login(username="chief", password="headline")
    assert client.get("/admin/scheduling/taskinfolog/").status_code == 200


NEWSROOM: tuple[Callable[[str], None], ...] = (
    ten_articles_go_live_one_by_one_within_two_minutes,
    there_is_an_article_in_every_status_a_user_sees,
    every_article_waiting_for_its_time_has_its_task,
    a_release_in_both_languages_is_ready_to_be_published,
    the_texts_are_a_newsrooms_in_english_and_chinese,
    some_articles_have_images,
    it_prints_log_ins_that_work_and_when_what_goes_live,
    each_role_may_do_its_own_part,
    the_chief_sees_when_an_article_went_live_as_the_readme_says,
)
"""What is true of a new newsroom, by what the command printed."""


def test_the_newsroom_is_as_the_readme_says() -> None:
    printed = run_demo()
    for check in NEWSROOM:
        check(printed)


@pytest.mark.cases(1)
@pytest.mark.parametrize("scene", SCENES)
def test_images_are_the_same_each_time(scene: str) -> None:
    assert hashlib.sha256(painted(scene)).digest() == hashlib.sha256(painted(scene)).digest()


@pytest.mark.thorough
def test_running_it_again_changes_nothing() -> None:
    run_demo()
    before = list(Article.objects.order_by("pk").values())

    printed = run_demo()

    assert "The demo newsroom exists already; nothing was added." in printed
    assert re.search(r"^  author +headline +Author$", printed, re.MULTILINE)
    assert list(Article.objects.order_by("pk").values()) == before


def test_what_no_one_was_running_to_publish_gets_new_times() -> None:
    """The first start was interrupted; the second one still shows articles going live."""
    run_demo()
    missed = Article.objects.filter(publish_at__lt=soon(minutes=2), status=Status.APPROVED)
    missed.update(publish_at=F("publish_at") - timedelta(minutes=30))
    Release.objects.update(publish_at=soon(hours=-1))

    assert f"{BULLETINS} articles whose time passed while no worker ran get new times." in run_demo()

    times = TaskInfo.objects.filter(task_type=PUBLISH, execute_time__gt=soon(), execute_time__lt=soon(minutes=2))
    assert times.count() == BULLETINS
    assert Release.objects.filter(publish_at__gt=soon(hours=6)).exists()


def test_it_does_not_mix_with_articles_of_ones_own() -> None:
    make_article()

    assert "nothing was added" in run_demo()
    assert Article.objects.count() == 1
    assert not Channel.objects.exists()


@pytest.mark.thorough
def test_outside_debugging_it_asks_for_a_password(settings: Settings) -> None:
    settings.DEBUG = False

    with pytest.raises(CommandError, match="--password"):
        run_demo()

    run_demo("--password", "correct horse")
    assert Client().login(username="chief", password="correct horse")
    assert not Client().login(username="chief", password="headline")


def test_what_the_readme_does_by_program_works_here() -> None:
    run_demo()
    address = re.findall(r'"\$API/(desk/articles/\?[^"]*)"', (base_dir / "README.md").read_text())[0]
    chief = APIClient()
    chief.force_authenticate(User.objects.get(username="chief"))

    found = chief.get(f"/api/v1/{address}").json()["results"][0]
    moved = chief.post(f"/api/v1/desk/articles/{found['id']}/schedule/", {"publish_at": "2030-01-01T07:00:00+08:00"})

    assert (moved.status_code, moved.json()["publish_at"]) == (200, "2029-12-31T23:00:00Z"), moved.json()


@pytest.mark.thorough
def test_a_changed_password_is_not_printed_again() -> None:
    run_demo("--password", "correct horse")

    printed = run_demo()

    assert "correct horse" not in printed
    assert "(as you chose it)" in printed


@pytest.mark.thorough
def test_it_works_as_a_command_of_its_own(manage: Manage) -> None:
    done = manage("demo")
    assert done.returncode == 0, done.stderr
    assert Article.objects.count() > BULLETINS


@pytest.mark.thorough
def test_a_composed_front_takes_the_place_of_the_automatic_one_in_each_language() -> None:
    run_demo()
    for language, kicker in (("en", "Tonight"), ("zh-hans", "今晚头条")):
        assert kicker not in Client().get(f"/{language}/").text
        version = FrontVersion.objects.get(front__slug=language)
        assert version.live_from is not None
        assert timedelta() < version.live_from - read_database_clock() <= timedelta(minutes=5)
        FrontVersion.objects.filter(pk=version.pk).update(live_from=read_database_clock())
        page = Client().get(f"/{language}/?page_size=9").text
        assert f'<p class="kicker">{kicker}</p>' in page
