"""What follows from a stored article follows from any save, and is called explicitly by services."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta
from types import FrameType
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import F
from django.db.models.signals import post_save
from django.utils.timezone import get_default_timezone, make_naive

from articles import publishing, signals
from articles.models import Article, AuditEntry, Event, ImageUse, SearchEntry
from articles.task_types import PUBLISH
from scheduling.database import database_now
from scheduling.models import TaskInfo
from tests.articles.factories import APPROVED, EARLY, make_article, make_editor, soon
from tests.articles.image_files import make_image, shown

pytestmark = pytest.mark.django_db

Status = Article.Status


def tasks_of(article: Article) -> set[tuple[str, Any]]:
    return set(TaskInfo.objects.filter(key=str(article.pk)).values_list("task_type", "execute_time"))


def test_a_save_by_other_code_has_all_that_follows() -> None:
    due, image = soon(hours=1), make_image(make_editor())
    article = Article(title="Storm warning", body="<p>Gusts.</p>", status=APPROVED, publish_at=due)
    article.save()
    assert tasks_of(article) == {(PUBLISH, due)}
    assert SearchEntry.objects.filter(article=article).exists()
    assert AuditEntry.objects.of(article).get().action == "create"
    article.publish_at, article.body = soon(hours=2), shown(image)
    article.save()
    assert tasks_of(article) == {(PUBLISH, article.publish_at)}
    assert ImageUse.objects.filter(article=article, image=image).exists()
    assert AuditEntry.objects.of(article).first().action == "save"  # type: ignore[union-attr]


def test_no_receiver_is_on_the_way_of_a_service() -> None:
    article, editor = make_article(status=APPROVED), make_editor()
    publishing.schedule(article, by=User.objects.get(pk=editor.pk), publish_at=soon(hours=1))  # fills the caches
    called: set[str] = set()

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename == signals.__file__:
            called.add(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        publishing.schedule(article, by=editor, publish_at=soon(hours=2))
    finally:
        sys.setprofile(None)
    assert not called
    assert len(tasks_of(article)) == 1


def test_what_a_receiver_saves_while_a_service_stores_has_all_that_follows() -> None:
    """Such as a receiver of another project, which keeps a second article in step."""
    first, second, due = make_article(status=APPROVED), make_article(status=APPROVED), soon(hours=2)

    def follow(instance: Article, **kwargs: Any) -> None:
        if instance.pk == first.pk:
            other = Article.objects.get(pk=second.pk)
            other.publish_at = due
            other.save()

    post_save.connect(follow, sender=Article)
    try:
        publishing.schedule(first, by=make_editor(), publish_at=soon(hours=1))
    finally:
        post_save.disconnect(follow, sender=Article)
    assert tasks_of(second) == {(PUBLISH, due)}


@pytest.mark.filterwarnings("ignore:DateTimeField Article.publish_at received a naive datetime")
def test_other_code_may_give_a_time_as_django_takes_it() -> None:
    article = Article(title="Storm warning", status=APPROVED, publish_at=datetime(2020, 1, 1))  # noqa: DTZ001
    article.save()
    article.title = "Storm"
    article.save()
    assert Article.objects.live(database_now()).filter(title="Storm").exists()


@pytest.mark.filterwarnings("ignore:DateTimeField Article.publish_at received a naive datetime")
def test_other_code_may_give_times_again_and_again_in_each_way_that_django_takes() -> None:
    due = soon(hours=2).replace(microsecond=0)
    local = make_naive(due, get_default_timezone())
    article = Article(title="Storm warning", status=APPROVED, publish_at=local)
    article.save()
    article.publish_at = local + timedelta(hours=1)
    article.save()
    article.embargo_until = due + timedelta(hours=2)
    article.save()
    article.publish_at, article.embargo_until = due.isoformat(), None
    article.save()
    assert tasks_of(article) == {(PUBLISH, due)}
    article.publish_at = F("publish_at") + timedelta(hours=1)
    article.save()
    assert article.publish_at == due + timedelta(hours=1)
    assert tasks_of(article) == {(PUBLISH, due + timedelta(hours=1))}


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({"cleared_at": EARLY}, id="live by the clock"),
        pytest.param({"status": Status.UNPUBLISHED, "published_at": EARLY}, id="live before"),
    ],
)
def test_a_new_time_that_is_past_schedules_nothing(values: dict[str, Any]) -> None:
    article = make_article(**{"status": APPROVED, "publish_at": soon(hours=-2), **values})
    before = Event.objects.count()
    article = Article.objects.get(pk=article.pk)
    article.status, article.publish_at = APPROVED, soon(hours=-1)
    article.save()
    assert Event.objects.count() == before


def test_what_a_receiver_adds_to_the_stored_article_has_all_that_follows() -> None:
    article, editor = make_article(), make_editor()
    image = make_image(editor)

    def add_image(instance: Article, **kwargs: Any) -> None:
        if not instance.images:
            instance.body = shown(image)
            instance.save()

    post_save.connect(add_image, sender=Article)
    try:
        publishing.edit(article, by=editor, changes={"unpublish_at": soon(hours=1)})
    finally:
        post_save.disconnect(add_image, sender=Article)
    assert ImageUse.objects.filter(article=article, image=image).exists()
