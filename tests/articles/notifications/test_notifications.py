"""Notifications in the admin and by mail."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.db import transaction
from django.test import Client

from articles import publishing, releases
from articles.audit.log import record
from articles.desk.menu import navigation
from articles.desk.notifications import unread_count
from articles.handlers import publish
from articles.models import Article, Notification, NotificationPreference
from articles.models.notification import by_default_mailed
from articles.notifications.alerts import notify_of_trouble
from articles.notifications.mail import send_mail
from articles.releases import as_due
from articles.roles import Role
from articles.task_types import MAIL, NOTIFY, PUBLISH
from articles.text import format_time_exactly
from scheduling.models import TaskInfo, TaskInfoLog
from scheduling.services import refresh
from scheduling.workers.worker import Worker
from tests.articles.factories import (
    APPROVED,
    approve,
    make_article,
    make_editor,
    make_member,
    make_user,
    soon,
)
from tests.articles.situations import SITUATIONS, Situation, failing_release

pytestmark = pytest.mark.django_db

Status = Article.Status
Kind = Notification.Kind


@pytest.fixture
def author() -> User:
    user = make_member(Role.AUTHOR, "wen")
    user.email = "wen@example.org"
    user.save()
    return user


def notified(user: User) -> list[tuple[str, str]]:
    return list(Notification.objects.filter(user=user).order_by("at").values_list("kind", "article_title"))


def test_an_author_is_notified_of_a_rejection_and_why(author: User) -> None:
    article = make_article("Mayor resigns", author=author, status=Status.MANUAL_REVIEW)
    publishing.reject(article, by=make_editor(), reason="No second source")
    notification = Notification.objects.get()
    assert (notification.user, notification.kind, notification.article, notification.reason) == (
        author,
        Kind.REJECTED,
        article,
        "No second source",
    )


def test_an_author_is_notified_of_an_approval(author: User) -> None:
    approve(make_article("Mayor resigns", author=author, status=Status.MANUAL_REVIEW))
    assert notified(author) == [(Kind.APPROVED, "Mayor resigns")]


def test_an_author_is_notified_that_the_article_is_live(author: User) -> None:
    article = make_article("Mayor resigns", author=author, status=APPROVED, publish_at=soon(seconds=-1))
    publish([make_task(1, article)])
    assert notified(author) == [(Kind.PUBLISHED, "Mayor resigns")]


def test_authors_of_articles_published_together_are_each_notified_as_they_chose(author: User) -> None:
    mailed, silent = make_member(Role.AUTHOR, "mei"), make_member(Role.AUTHOR, "sil")
    User.objects.filter(pk=mailed.pk).update(email="mei@example.org")
    NotificationPreference.objects.create(user=mailed, desk=[], mail=[Kind.PUBLISHED])
    NotificationPreference.objects.create(user=silent, desk=[Kind.REJECTED], mail=[])
    for number, user in enumerate([author, mailed, silent, None, author]):
        make_article(f"Story {number}", author=user, status=APPROVED, publish_at=soon(seconds=-1))
    articles = Article.objects.order_by("pk")
    publish([make_task(number, article) for number, article in enumerate(articles)])

    assert sorted(notified(author)) == [(Kind.PUBLISHED, "Story 0"), (Kind.PUBLISHED, "Story 4")]
    assert notified(mailed) == [(Kind.PUBLISHED, "Story 1")]
    assert notified(silent) == []
    shown = Notification.objects.in_desk_of(author).unread()
    assert {notification.article_id for notification in shown} == {articles[0].pk, articles[4].pk}
    assert TaskInfo.objects.get(task_type=MAIL).key == str(Notification.objects.get(user=mailed).pk)


def test_authors_of_many_articles_published_together_are_notified_once_by_a_task(author: User) -> None:
    for number in range(21):
        make_article(f"Story {number:02}", author=author, status=APPROVED, publish_at=soon(seconds=-1))
    publish([make_task(number, article) for number, article in enumerate(Article.objects.order_by("pk"))])
    assert notified(author) == []
    task = TaskInfo.objects.get(task_type=NOTIFY)
    TaskInfo.objects.filter(pk=task.pk).update(execute_time=soon(seconds=-1))
    Worker(task_types=[NOTIFY]).drain()
    assert sorted(notified(author)) == [(Kind.PUBLISHED, f"Story {number:02}") for number in range(21)]
    assert TaskInfoLog.objects.get(pk=task.pk).status == TaskInfoLog.Status.EXECUTED


def make_task(number: int, article: Article) -> TaskInfo:
    return TaskInfo(task_id=number, parameters={"article_id": article.pk}, execute_time=soon(), promised_at=soon())


def test_an_author_is_notified_that_an_article_is_pulled_back(author: User) -> None:
    record("pulled_back", article=make_article("Mayor resigns", author=author))
    assert notified(author) == [(Kind.PULLED_BACK, "Mayor resigns")]


def test_no_one_is_notified_of_their_own_action() -> None:
    alice = make_editor()
    publishing.publish_now(make_article(author=alice, status=APPROVED), by=alice)
    assert not Notification.objects.exists()


def test_what_is_undone_is_not_notified(author: User) -> None:
    article = make_article(author=author, status=Status.MANUAL_REVIEW)
    with transaction.atomic():
        approve(article)
        transaction.set_rollback(True)
    assert not Notification.objects.exists()


def test_each_user_chooses_what_comes_in_the_admin_and_what_by_mail(author: User) -> None:
    NotificationPreference.objects.create(user=author, desk=[Kind.REJECTED], mail=[Kind.APPROVED])
    alice = make_editor()
    approve(make_article(author=author, status=Status.MANUAL_REVIEW))
    publishing.reject(make_article(author=author, status=Status.MANUAL_REVIEW), by=alice, reason="Thin")
    publishing.publish_now(make_article(author=author, status=APPROVED), by=alice)

    assert set(Notification.objects.values_list("kind", "in_desk")) == {(Kind.APPROVED, False), (Kind.REJECTED, True)}
    assert Notification.objects.in_desk_of(author).get().kind == Kind.REJECTED
    mailed = TaskInfo.objects.get(task_type=MAIL)
    assert mailed.key == str(Notification.objects.get(kind=Kind.APPROVED).pk)


@pytest.mark.django_db(transaction=True)
def test_a_mail_is_sent_once_even_if_its_task_is_run_twice(author: User) -> None:
    article = make_article("Mayor\r\nresigns", author=author, status=Status.MANUAL_REVIEW)
    publishing.reject(article, by=make_editor(), reason="No second source")
    notification = Notification.objects.get()

    Worker().drain()
    send_mail(notification.pk)

    (sent,) = mail.outbox
    assert sent.to == ["wen@example.org"]
    assert sent.subject == "Rejected: Mayor resigns"
    assert "No second source" in sent.body
    assert f"/admin/articles/article/{article.pk}/change/" in sent.body
    assert str(notification.pk) in sent.message()["Message-ID"]
    notification.refresh_from_db()
    assert notification.mailed_at is not None


@pytest.mark.django_db(transaction=True)
def test_a_mail_that_could_not_be_sent_is_tried_again(author: User, settings: object) -> None:
    settings.EMAIL_BACKEND = "nowhere.Backend"  # type: ignore[attr-defined]
    publishing.reject(make_article(author=author, status=Status.MANUAL_REVIEW), by=make_editor(), reason="Thin")
    Worker().drain()
    task = TaskInfo.objects.get(task_type=MAIL)
    assert task.attempts == 1
    assert Notification.objects.get().mailed_at is None

    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"  # type: ignore[attr-defined]
    TaskInfo.objects.update(execute_time=soon())
    Worker().drain()
    assert len(mail.outbox) == 1


def test_a_mail_names_no_article_to_a_user_who_has_lost_the_role(author: User) -> None:
    article = make_article("Mayor resigns", author=author, status=Status.MANUAL_REVIEW)
    publishing.reject(article, by=make_editor(), reason="No second source")
    author.groups.clear()
    send_mail(Notification.objects.get().pk)
    (sent,) = mail.outbox
    assert (sent.subject, "Mayor" in str(sent.body), "source" in str(sent.body)) == ("Rejected", False, False)


def test_a_deactivated_user_gets_no_mail(author: User) -> None:
    article = make_article("Mayor resigns", author=author, status=Status.MANUAL_REVIEW)
    publishing.reject(article, by=make_editor(), reason="No second source")
    User.objects.filter(pk=author.pk).update(is_active=False)
    assert (send_mail(Notification.objects.get().pk), mail.outbox) == (False, [])


def test_no_one_is_mailed_without_an_address(author: User) -> None:
    User.objects.update(email="")
    publishing.reject(make_article(author=author, status=Status.MANUAL_REVIEW), by=make_editor(), reason="Thin")
    assert not TaskInfo.objects.filter(task_type=MAIL).exists()


def test_publishers_and_operators_are_notified_once_that_a_release_is_overdue(author: User) -> None:
    publisher, operator = make_member(Role.PUBLISHER), make_member(Role.OPERATOR)
    release = failing_release(soon(minutes=-1))

    assert [notify_of_trouble(), notify_of_trouble()] == [1, 0]

    assert notified(publisher) == notified(operator) == [(Kind.OVERDUE, release.name)]
    assert notified(author) == []


@pytest.mark.cases(4)
@pytest.mark.parametrize("build", SITUATIONS.values(), ids=SITUATIONS)
def test_what_readers_have_by_the_clock_is_not_called_overdue(build: Callable[[datetime], Situation]) -> None:
    make_member(Role.PUBLISHER)
    build(soon(minutes=-1))
    with as_due():
        assert notify_of_trouble() == 0


def test_that_something_is_overdue_is_deleted_once_it_has_failed() -> None:
    publisher = make_member(Role.PUBLISHER)
    failing_release(soon(minutes=-1))
    assert notify_of_trouble() == 1
    assert [kind for kind, _title in notified(publisher)] == [Kind.OVERDUE]
    Worker().drain()
    assert Kind.OVERDUE not in [kind for kind, _title in notified(publisher)]


def test_that_something_is_overdue_is_deleted_once_it_has_another_time() -> None:
    publisher = make_member(Role.PUBLISHER)
    release = failing_release(soon(minutes=-1))
    notify_of_trouble()
    releases.schedule_release(release, publish_at=soon(hours=1), by=User.objects.get(username="night"))
    assert notify_of_trouble() == 0
    assert Kind.OVERDUE not in [kind for kind, _title in notified(publisher)]


def test_what_was_read_about_something_overdue_stays() -> None:
    publisher = make_member(Role.PUBLISHER)
    failing_release(soon(minutes=-1))
    notify_of_trouble()
    Notification.objects.update(read_at=soon())
    Worker().drain()
    assert Kind.OVERDUE in [kind for kind, _title in notified(publisher)]


@pytest.mark.parametrize("is_mailed", [False, True])
def test_that_an_article_is_live_is_dated_from_when_readers_had_it(author: User, is_mailed: bool) -> None:
    """After four minutes without a worker."""
    NotificationPreference.objects.create(user=author, mail=[Kind.PUBLISHED] if is_mailed else [])
    made = SITUATIONS["article"](soon(minutes=-4))
    Article.objects.update(author=author)
    Worker().drain()
    assert Notification.objects.get(kind=Kind.PUBLISHED).at == made.at
    texts = [message.body for message in mail.outbox]
    assert [format_time_exactly(made.at) in text for text in texts] == [True] * is_mailed


def test_they_are_notified_that_publishing_has_failed_and_why() -> None:
    publisher = make_member(Role.PUBLISHER)
    make_article("Mayor resigns", status=APPROVED, publish_at=soon(hours=1))
    TaskInfo.objects.filter(task_type=PUBLISH).delete()
    failed = TaskInfoLog.objects.filter(task_type=PUBLISH)
    failed.update(status=TaskInfoLog.Status.FAILED, error="Traceback …\nOSError: disk full")

    notify_of_trouble()

    assert notified(publisher) == [(Kind.FAILED, "Mayor resigns")]
    assert Notification.objects.get().reason == "OSError: disk full"


def test_administrators_are_notified_when_there_is_no_one_else() -> None:
    root = make_user("root", is_superuser=True)
    failing_release(soon(minutes=-1))
    User.objects.exclude(pk=root.pk).update(is_active=False)
    notify_of_trouble()
    assert len(notified(root)) == 1


LIST = "/admin/articles/notification/"


@pytest.fixture
def desk(author: User) -> Client:
    """The admin of the author, who has two notifications; another user has one."""
    alice = make_editor()
    for user in (author, author, make_user("other")):
        article = make_article("Mayor resigns", author=user, status=Status.MANUAL_REVIEW)
        publishing.reject(article, by=alice, reason="No second source")
    client = Client()
    client.force_login(author)
    return client


def unread(user: User) -> int:
    return Notification.objects.in_desk_of(user).unread().count()


def test_the_admin_shows_the_user_s_own_notifications_and_counts_the_unread(desk: Client, author: User) -> None:
    page = desk.get(LIST)
    assert page.context["cl"].result_count == 2
    assert "No second source" in page.content.decode()
    assert unread_count(page.wsgi_request) == 2
    items = [item for group in navigation(page.wsgi_request) for item in group["items"]]
    assert [item["badge"] for item in items if "badge" in item] == [2]


def test_opening_a_notification_marks_it_read_and_leads_to_the_article(desk: Client, author: User) -> None:
    notification = Notification.objects.in_desk_of(author).first()
    assert notification is not None
    response = desk.get(f"{LIST}{notification.pk}/change/")
    assert response["Location"] == f"/admin/articles/article/{notification.article_id}/change/"
    assert unread(author) == 1


def test_no_one_opens_the_notifications_of_others(desk: Client, author: User) -> None:
    other = Notification.objects.exclude(user=author).get()
    assert desk.get(f"{LIST}{other.pk}/change/")["Location"] == LIST
    other.refresh_from_db()
    assert other.read_at is None


def test_all_notifications_are_marked_read_at_once(desk: Client, author: User) -> None:
    assert desk.post(f"{LIST}read/")["Location"] == LIST
    assert unread(author) == 0
    assert Notification.objects.unread().count() == 1


def test_a_link_from_elsewhere_marks_no_notification_read(desk: Client, author: User) -> None:
    desk.get(f"{LIST}read/")
    forged = Client(enforce_csrf_checks=True)
    forged.force_login(author)
    assert forged.post(f"{LIST}read/").status_code == 403
    assert unread(author) == 2


def test_the_button_for_all_is_offered_as_long_as_something_is_unread(desk: Client) -> None:
    button = f'action="{LIST}read/"'
    assert button in desk.get(LIST).content.decode()
    desk.post(f"{LIST}read/")
    assert button not in desk.get(LIST).content.decode()


def test_notification_preferences_are_chosen_on_a_page(desk: Client, author: User) -> None:
    assert desk.get(f"{LIST}choices/").context["form"]["mail"].value() == by_default_mailed()
    desk.post(f"{LIST}choices/", {"desk": ["failed", "rejected"], "mail": ["published"]})
    choice = NotificationPreference.objects.get(user=author)
    assert (choice.desk, choice.mail) == (["failed", "rejected"], ["published"])


def test_the_article_s_form_shows_what_happened_to_it(desk: Client, author: User) -> None:
    article = Article.objects.filter(author=author).first()
    assert article is not None
    page = desk.get(f"/admin/articles/article/{article.pk}/change/")
    timeline = page.text.partition('id="record"')[2].partition("</ol>")[0]
    assert re.findall("<strong>(.*?)</strong>", timeline) == ["Reject", "Created"]


def test_an_unread_notification_is_marked_new_and_not_ticked(author: User) -> None:
    article = make_article(author=author)
    old, new = (
        Notification.objects.create(
            user=author, kind=Notification.Kind.APPROVED, article=article, article_title=title, at=soon()
        )
        for title in ("Old", "New")
    )
    Notification.objects.filter(pk=old.pk).update(read_at=soon())
    client = Client()
    client.force_login(author)
    page = client.get("/admin/articles/notification/").text
    cells = re.findall(r"field-is_new.*?</td>", page, re.DOTALL)
    assert [bool(re.search(r">\s*new\s*<", cell)) for cell in cells] == [True, False]
    assert not any("check_small" in cell for cell in cells)


def test_a_user_with_a_notification_can_be_deleted_with_it(client: Client, author: User) -> None:
    approve(make_article("Mayor resigns", author=author, status=Status.MANUAL_REVIEW), by=make_editor())
    NotificationPreference.objects.create(user=author)
    client.force_login(make_user("root", is_superuser=True))
    question = client.get(f"/admin/auth/user/{author.pk}/delete/")
    assert "your account doesn't have permission" not in question.content.decode()
    client.post(f"/admin/auth/user/{author.pk}/delete/", {"post": "yes"})
    assert not User.objects.filter(pk=author.pk).exists()
    assert not Notification.objects.exists()


def test_several_users_with_notifications_are_deleted_from_the_list(client: Client, author: User) -> None:
    approve(make_article("Mayor resigns", author=author, status=Status.MANUAL_REVIEW), by=make_editor())
    client.force_login(make_user("root", is_superuser=True))
    chosen = {"action": "delete_selected", "_selected_action": [author.pk], "post": "yes"}
    client.post("/admin/auth/user/", chosen)
    assert not User.objects.filter(pk=author.pk).exists()


def test_notifications_for_a_deleted_user_are_removed_and_never_mailed(author: User) -> None:
    make_article("Mayor resigns", author=author, status=Status.MANUAL_REVIEW)
    approve(Article.objects.get(), by=make_editor())
    Notification.objects.update(user_id=author.pk + 1000)
    assert send_mail(Notification.objects.get().pk) is False
    assert refresh().reconciled >= 1
    assert not Notification.objects.exists()
