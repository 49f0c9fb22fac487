"""Every text field of an article is in revisions, diffs, digests, review, search, import, export, API and forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from rest_framework.test import APIClient

from articles import publishing
from articles.models import LINES, Article, Channel, PendingChange, Revision, SensitiveWord, Tag, Text
from articles.publishing import compare, restore_revision
from articles.review import ReviewSubject, review_words
from tests.articles.desk.articles.test_admin import form_address, logged_in, press
from tests.articles.desk.editor.test_edit_conflict import Second, asked
from tests.articles.factories import APPROVED, make_article, make_editor, make_user, soon
from tests.articles.import_files import run_command, run_import

pytestmark = pytest.mark.django_db

each_line = pytest.mark.parametrize("name", LINES)


@pytest.fixture
def alice() -> User:
    return make_editor()


@pytest.fixture
def client(alice: User) -> Client:
    return logged_in(alice)


def test_the_text_has_the_columns_that_articles_and_revisions_share() -> None:
    columns = [{field.attname for field in model._meta.concrete_fields} for model in (Article, Revision)]
    assert set(Text.COLUMNS) == set.intersection(*columns) - {"id", "author_id", "created_at"}
    assert {name.removesuffix("_id") for name in Text.COLUMNS} | {"tags"} == Text.NAMES
    assert set(LINES) < Text.NAMES


@pytest.mark.cases(2)
@each_line
def test_a_line_is_in_revision_diff_and_digest(name: str, alice: User) -> None:
    article = make_article("Old")
    publishing.edit(article, by=alice, changes={name: "Zeppelin"})
    first, second = article.revisions.order_by("number")
    assert getattr(second, name) == "Zeppelin"
    assert [field.name for field in compare(first, second)] == [name]
    assert first.digest != second.digest
    restore_revision(article, number=1, by=alice)
    assert Text.of(Article.objects.get()) == first.text


@each_line
def test_a_line_of_an_update_replaces_the_live_one(name: str, alice: User) -> None:
    article = make_article(status=Article.Status.PUBLISHED, publish_at=soon(days=-1))
    publishing.edit(article, by=alice, changes={name: "Zeppelin"})
    update = article.update
    update.approved, update.draft = update.draft, None
    update.save()
    publishing.publish_update(article, by=alice)
    assert getattr(Article.objects.get(), name) == "Zeppelin"


@each_line
def test_a_line_is_reviewed(name: str) -> None:
    SensitiveWord.objects.create(text="zeppelin", level=SensitiveWord.Level.BLOCK)
    text = Text.of(make_article()).changed({name: "A zeppelin"})
    (finding,) = review_words(ReviewSubject.of(text)).findings
    assert finding.place == str(Article._meta.get_field(name).verbose_name)  # type: ignore[union-attr]


@pytest.mark.cases(2)
@each_line
@pytest.mark.django_db(transaction=True)  # MariaDB finds only what is committed
def test_a_line_is_found_by_readers_and_in_the_newsroom(name: str, client: Client) -> None:
    values: dict[str, Any] = {"title": "Other", name: "Zeppelin"}
    make_article(status=APPROVED, publish_at=soon(days=-1), **values)
    assert [row["id"] for row in APIClient().get("/api/v1/articles/?q=zeppelin").json()["results"]]
    listed = client.get("/admin/articles/article/", {"q": "zeppelin"}).context["cl"].result_list
    assert len(listed) == 1


@pytest.mark.cases(4)
@each_line
@pytest.mark.parametrize("form", ["jsonl", "wxr"])
def test_an_import_restores_every_exported_line(name: str, form: str, tmp_path: Path) -> None:
    make_article(**{"title": "Other", name: "Zeppelin"})
    path = tmp_path / f"articles.{form}"
    run_command("export_articles", path, "--format", form)
    Article.objects.all().delete()
    assert run_import(path, "--format", form).code == 0
    assert getattr(Article.objects.get(), name) == "Zeppelin"


@each_line
def test_a_line_that_is_too_long_is_refused_by_the_import(name: str, tmp_path: Path) -> None:
    path = tmp_path / "articles.csv"
    path.write_text(f"title,{name}\n" if name != "title" else "title\n", encoding="utf-8")
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{'' if name == 'title' else 'Other,'}{'x' * 501}\n")
    (remark,) = run_import(path).remarks
    assert f"{name}: has 501 characters" in remark


@pytest.mark.cases(4)
@pytest.mark.parametrize("name", Text.FIELDS)
def test_every_field_is_in_the_api(name: str, alice: User) -> None:
    client = APIClient()
    client.force_authenticate(alice)
    channel, tag = Channel.objects.create(name="Town", slug="town"), Tag.objects.create(name="Sea", slug="sea")
    samples = {"channel": channel.slug, "tags": [tag.slug], "cover_mode": "none", "cover": [], "slug": "zeppelin"}
    value = samples.get(name, "<p>Zeppelin</p>" if name == "body" else "Zeppelin")
    article = make_article(status=Article.Status.PUBLISHED, publish_at=soon(days=-1))
    address = f"/api/v1/desk/articles/{article.pk}/"
    response = client.patch(address, {name: value}, format="json")
    assert response.status_code == 200, response.json()
    if draft := response.json()["pending_update"]:
        assert draft["draft"][name] == ([tag.name] if name == "tags" else value)
    assert name in response.json()
    assert name == "cover_mode" or name in APIClient().get(f"/api/v1/articles/{article.pk}/").json()


@pytest.mark.cases(4)
@pytest.mark.parametrize("name", Text.FIELDS)
def test_every_field_is_in_the_form_also_of_users_who_may_only_read(name: str, client: Client) -> None:
    article = make_article(author=make_editor("bob"))
    assert name in client.get(form_address(article)).context["adminform"].form.fields
    shown = logged_in(make_user("reader", "view_article")).get(form_address(article)).context["adminform"].fieldsets
    rows = [getattr(field, "__name__", field) for _title, options in shown for field in options["fields"]]
    assert f"{name}_shown" in rows or name == "cover"  # an empty cover is not shown


@pytest.mark.cases(2)
@each_line
def test_the_form_saves_a_line_and_merges_changes_of_two_users(name: str, client: Client) -> None:
    article = make_article("Old")
    other = "summary" if name != "summary" else "title"
    bob = Second(article, "bob", **{other: "His"})
    press(client, article, "_save", **{name: "Hers"})
    page = bob.save()
    assert asked(page) == []
    bob.response(page)
    article.refresh_from_db()
    assert (getattr(article, name), getattr(article, other)) == ("Hers", "His")


@pytest.mark.cases(2)
@each_line
def test_a_conflict_of_a_line_is_asked(name: str, client: Client) -> None:
    article = make_article("Old")
    bob = Second(article, "bob", **{name: "His"})
    press(client, article, "_save", **{name: "Hers"})
    assert asked(bob.save()) == [name]


@pytest.mark.parametrize("name", sorted(Text.NAMES - {"channel", "tags", "cover", "cover_mode"}))
def test_the_change_feed_notes_every_write_of_a_text_even_by_sql(name: str) -> None:
    article = make_article(status=APPROVED, publish_at=soon(days=-1))
    PendingChange.objects.all().delete()
    with connection.cursor() as cursor:
        column = connection.ops.quote_name(name)
        cursor.execute(f"UPDATE articles_article SET {column} = 'zeppelin' WHERE id = %s", [article.pk])  # noqa: S608
    assert PendingChange.objects.get().is_visible
