"""Admin pages show users' full names instead of their log-in names."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from articles import publishing, releases
from articles.models import Article, AuditEntry
from articles.models.staff import named_apart
from articles.roles import Role
from tests.articles.desk.articles.test_admin import form_address, logged_in
from tests.articles.factories import make_article, make_member, make_release, make_user, soon

pytestmark = pytest.mark.django_db


def make_named(name: str, first: str = "", last: str = "", **options: Any) -> User:
    """A user with a full name."""
    user = make_user(name, **options)
    user.first_name, user.last_name = first, last
    User.objects.bulk_update([user], ["first_name", "last_name"])
    return user


@pytest.fixture
def desk() -> Client:
    return logged_in(make_named("root", "Irene", "Castell", is_superuser=True))


def offered(client: Client, typed: str) -> list[str]:
    """The suggestions of the author field for this input."""
    field = {"app_label": "articles", "model_name": "article", "field_name": "author"}
    return [row["text"] for row in client.get("/admin/autocomplete/", {**field, "term": typed}).json()["results"]]


def test_the_author_is_chosen_by_name_and_two_alike_are_shown_apart(desk: Client) -> None:
    for name, *names in (("nadia7", "Nadia", "Frost"), ("wen1", "Wen", "Li"), ("wen2", "Wen", "Li"), ("nameless",)):
        make_named(name, *names)
    assert offered(desk, "nadia") == ["Nadia Frost"]
    assert sorted(offered(desk, "wen")) == ["Wen Li (wen1)", "Wen Li (wen2)"]
    assert offered(desk, "nameless") == ["nameless"]


def test_who_may_not_choose_is_offered_no_one() -> None:
    author = logged_in(make_member(Role.AUTHOR))
    field = {"app_label": "articles", "model_name": "article", "field_name": "author"}
    assert author.get("/admin/autocomplete/", {**field, "term": "a"}).status_code == 403
    assert Client().get("/admin/autocomplete/", {**field, "term": "a"}).status_code == 302


def test_the_form_names_the_author(desk: Client) -> None:
    article = make_article(author=make_named("nadia7", "Nadia", "Frost"))
    publisher = logged_in(make_member(Role.PUBLISHER))
    for client in (desk, publisher):
        page = client.get(form_address(article)).text
        assert "Nadia Frost" in page
        assert ">nadia7<" not in page


def test_the_record_keeps_log_in_names_and_shows_names(desk: Client) -> None:
    editor = make_named("nadia7", "Nadia", "Frost", is_superuser=True)
    article = make_article("Bridge", author=editor)
    publishing.submit(article, by=editor)
    assert AuditEntry.objects.of(article)[0].user_name == "nadia7"
    for address in ("/admin/articles/auditentry/", form_address(article)):
        assert "Nadia Frost" in desk.get(address).text
    for words, number in (("nadia frost", 1), ("nadia7", 1), ("bridge", 2), ("nadia li", 0)):
        found = desk.get("/admin/articles/auditentry/", {"q": words}).context["cl"].result_count
        assert found == number, words
    User.objects.filter(pk=editor.pk).delete()
    Article.objects.update(author=None)
    assert "nadia7" in desk.get("/admin/articles/auditentry/").text


def test_lists_of_users_show_two_alike_apart() -> None:
    users = [make_named("wen1", "Wen", "Li"), make_named("wen2", "Wen", "Li"), make_named("nadia7", "Nadia", "Frost")]
    assert list(named_apart(users).values()) == ["Wen Li (wen1)", "Wen Li (wen2)", "Nadia Frost"]


def test_deleting_a_person_names_the_person_and_no_rows_of_tables(desk: Client) -> None:
    user = make_named("nadia7", "Nadia", "Frost")
    user.groups.add(Group.objects.get(name=Role.AUTHOR))
    page = desk.get(f"/admin/auth/user/{user.pk}/delete/").text
    assert "Nadia Frost" in page
    assert "User_groups" not in page


def test_a_task_of_a_release_is_about_its_name(desk: Client) -> None:
    root = User.objects.get()
    release = make_release(make_article(status=Article.Status.APPROVED), by=root, name="Budget day")
    releases.schedule_release(release, publish_at=soon(hours=1), by=root)
    assert "Budget day" in desk.get("/admin/scheduling/taskinfo/").text


def test_the_history_of_an_article_is_that_of_its_texts(desk: Client) -> None:
    article = make_article()
    response = desk.get(f"/admin/articles/article/{article.pk}/history/")
    assert response.headers["Location"] == f"/admin/articles/article/{article.pk}/revisions/"
