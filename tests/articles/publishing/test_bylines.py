"""Deleted accounts: readers still see who wrote an article."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from articles import publishing
from articles.audit import Action
from articles.models import Article, AuditEntry, Channel
from articles.search import reconcile_index
from tests.articles.factories import approve, make_article, make_editor, make_user, soon

Status = Article.Status
USERS = "/admin/auth/user/"

transaction_test = pytest.mark.django_db(transaction=True)
pytestmark = pytest.mark.django_db


@pytest.fixture
def lin() -> User:
    user = make_user("lin", "add_article", "change_article")
    User.objects.filter(pk=user.pk).update(first_name="Lin Mei")
    return User.objects.get(pk=user.pk)


@pytest.fixture
def desk() -> Client:
    client = Client()
    client.force_login(make_user("root", is_superuser=True))
    return client


def live(author: User, title: str = "Harbour bridge reopens", **values: Any) -> Article:
    channel = Channel.objects.get_or_create(name="Politics")[0]
    return make_article(
        title,
        author=author,
        status=Status.PUBLISHED,
        publish_at=soon(hours=-1),
        published_at=soon(hours=-1),
        channel=channel,
        **values,
    )


def delete_page(desk: Client, user: User) -> None:
    desk.post(f"{USERS}{user.pk}/delete/", {"post": "yes"})


def delete_selected(desk: Client, user: User) -> None:
    desk.post(USERS, {"action": "delete_selected", "_selected_action": [user.pk], "post": "yes"})


def delete_query(desk: Client, user: User) -> None:
    User.objects.filter(pk=user.pk).delete()


def delete_row(desk: Client, user: User) -> None:
    User.objects.get(pk=user.pk).delete()


WAYS = [delete_page, delete_selected, delete_query, delete_row]


@pytest.mark.cases(2)
@transaction_test
@pytest.mark.parametrize("delete", WAYS)
def test_readers_still_see_the_name_of_a_deleted_author(
    lin: User, desk: Client, delete: Callable[..., None], settings: Any
) -> None:
    settings.PAGE_CACHE_SECONDS = 60.0
    article = live(lin)
    pages = [
        article.get_absolute_url(),
        "/feed/",
        "/feed/atom/",
        "/feed/json/",
        f"/api/v1/articles/{article.pk}/",
    ]
    for page in pages:
        assert "Lin Mei" in Client().get(page).text
    author_page = f"/author/{lin.pk}/"
    assert Client().get(author_page).status_code == 200
    delete(desk, lin)
    assert not User.objects.filter(pk=lin.pk).exists()
    for page in pages:
        found = Client().get(page).text
        assert "Lin Mei" in found
        assert author_page not in found
    assert '"author":{"@type":"Organization","name":"Lin Mei"}' in Client().get(pages[0]).text.replace(
        ": ", ":"
    ).replace(", ", ",")
    assert Client().get(author_page).status_code == 404


@pytest.mark.parametrize("status", Status)
def test_articles_of_any_status_keep_the_name(lin: User, status: Status) -> None:
    make_article(author=lin, status=status, publish_at=soon(days=1))
    lin.delete()
    article = Article.objects.get()
    assert (article.byline, article.author, article.signed) == ("Lin Mei", None, "Lin Mei")


def test_nothing_counts_as_changed_for_readers(lin: User) -> None:
    stamp = soon(minutes=-30)
    article = live(lin)
    Article.objects.update(text_changed_at=stamp)
    lin.delete()
    assert Article.objects.get(pk=article.pk).text_changed_at == stamp
    assert reconcile_index() == 0, "the search finds the byline at once"


def test_bylines_of_their_own_stay(lin: User) -> None:
    with_byline, of_another = live(lin, byline="Our reporters"), live(make_user("bob"), "Other")
    lin.delete()
    assert Article.objects.get(pk=with_byline.pk).byline == "Our reporters"
    assert Article.objects.get(pk=of_another.pk).byline == ""
    assert not AuditEntry.objects.filter(action=Action.KEEP_BYLINE).exists()


def test_an_account_without_a_name_leaves_no_byline(lin: User) -> None:
    User.objects.update(first_name="", last_name="")
    article = live(lin)
    User.objects.get(pk=lin.pk).delete()
    assert Article.objects.get(pk=article.pk).byline == ""


def test_a_name_that_is_too_long_for_a_byline_is_cut(lin: User) -> None:
    User.objects.filter(pk=lin.pk).update(first_name="李" * 150)
    article = live(lin)
    User.objects.get(pk=lin.pk).delete()
    assert Article.objects.get(pk=article.pk).byline == "李" * 120


def test_updates_keep_the_name(lin: User) -> None:
    editor, article = make_editor(), live(lin)
    publishing.edit(article, by=editor, changes={"title": "Newer"})
    publishing.submit(article, by=editor)
    approve(article)
    publishing.edit(Article.objects.get(), by=editor, changes={"title": "Newest"})
    lin.delete()
    update = Article.objects.get().update
    assert update.approved is not None and update.draft is not None
    assert [(one.title, one.byline) for one in (update.approved, update.draft)] == [
        ("Newer", "Lin Mei"),
        ("Newest", "Lin Mei"),
    ]
    publishing.publish_update(Article.objects.get(), by=editor)
    article = Article.objects.get()
    assert (article.title, article.byline) == ("Newer", "Lin Mei")


def test_a_revision_from_before_is_restored_with_the_name(lin: User) -> None:
    article = make_article("Old", author=lin)
    publishing.edit(article, by=make_editor(), changes={"title": "New"})
    lin.delete()
    article = Article.objects.get()
    publishing.restore_revision(article, number=1, by=User.objects.get(username="alice"))
    assert (article.title, article.byline) == ("Old", "Lin Mei")


def test_an_open_form_does_not_remove_the_name(lin: User) -> None:
    editor, article = make_editor(), make_article("Old", author=lin)
    seen, desk = article.changed_at, Client()
    desk.force_login(editor)
    form = desk.get(f"/admin/articles/article/{article.pk}/change/").context["adminform"].form
    values = {name: form[name].value() or "" for name in form.fields if name not in ("tags", "author")}
    lin.delete()
    assert Article.objects.get().changed_at != seen
    desk.post(f"/admin/articles/article/{article.pk}/change/", {**values, "title": "New", "_save": "1"})
    assert Article.objects.get().byline == "Lin Mei"


def test_each_article_has_an_audit_entry_with_who_deleted_the_account(lin: User, desk: Client) -> None:
    article = live(lin)
    delete_page(desk, lin)
    entry = AuditEntry.objects.get(action=Action.KEEP_BYLINE)
    assert (entry.article_id, entry.user_name, entry.source) == (article.pk, "root", AuditEntry.Source.ADMIN)
    assert entry.details == {"byline": "Lin Mei"}
    assert "Author’s name kept as byline" in desk.get(f"/admin/articles/auditentry/{entry.pk}/change/").text


def test_many_articles_take_as_many_statements_as_one(lin: User) -> None:
    def statements(user: User) -> int:
        with CaptureQueriesContext(
            connection,
        ) as found:
            user.delete()
        return len(found)

    ann = make_user("ann")
    User.objects.filter(pk=ann.pk).update(first_name="Ann")
    live(User.objects.get(pk=ann.pk))
    for number in range(20):
        live(lin, f"Bridge {number}")
    assert statements(lin) <= statements(User.objects.get(pk=ann.pk)) + 2


@pytest.mark.parametrize("way", ["page", "list"])
def test_the_question_says_how_many_articles_are_concerned_and_offers_to_deactivate(
    lin: User, desk: Client, way: str
) -> None:
    live(lin)
    make_article("A draft", author=lin)
    live(lin, "With a byline", byline="Our reporters")
    address, sent = f"{USERS}{lin.pk}/delete/", {}
    if way == "list":
        address, sent = USERS, {"action": "delete_selected", "_selected_action": [lin.pk]}
    question = desk.post(address, sent) if sent else desk.get(address)
    assert "Delete the account of Lin Mei?" in question.text
    assert "2 articles show readers the name of their author. They keep the name as their byline." in question.text
    first = question.text.index("Deactivate instead")
    assert first < question.text.index("desk-danger")
    answer = desk.post(address, {**sent, "deactivate": "yes", "post": "yes"}, follow=True)
    assert "Deactivated: Lin Mei." in answer.text
    assert User.objects.filter(pk=lin.pk, is_active=False).exists()
    assert Article.objects.filter(author=lin).count() == 3
    assert "Deactivate instead" not in desk.get(f"{USERS}{lin.pk}/delete/").text


def test_only_who_may_delete_and_change_users_deactivates_them(lin: User) -> None:
    chief = make_user("chief", "delete_user", "view_user")
    desk = Client()
    desk.force_login(chief)
    assert "Deactivate instead" not in desk.get(f"{USERS}{lin.pk}/delete/").text
    assert desk.post(f"{USERS}{lin.pk}/delete/", {"deactivate": "yes"}).status_code == 403
    assert (
        desk.post(USERS, {"action": "delete_selected", "_selected_action": [lin.pk], "deactivate": "yes"}).status_code
        == 403
    )
    assert User.objects.get(pk=lin.pk).is_active


def test_the_last_administrators_are_not_deactivated(desk: Client) -> None:
    root = User.objects.get(username="root")
    other = User.objects.create_superuser("other", "", "correct horse")
    both = {"action": "delete_selected", "_selected_action": [root.pk, other.pk], "deactivate": "yes"}
    assert "This is the last administrator" in desk.post(USERS, both, follow=True).text
    assert User.objects.filter(is_superuser=True, is_active=True).count() == 2
