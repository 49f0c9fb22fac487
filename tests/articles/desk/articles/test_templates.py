"""Article templates: who manages them, and articles that begin with one."""

from __future__ import annotations

from http import HTTPStatus

import pytest
from django.test import Client

from articles import publishing
from articles.exceptions import NotAllowed
from articles.models import Article, ArticleTemplate, Channel, Tag
from articles.roles import Role
from tests.articles.factories import make_article, make_channel, make_editor, make_member

pytestmark = pytest.mark.django_db

TEMPLATES = "/admin/articles/articletemplate/"
ADD = "/admin/articles/article/add/"


def client_of(role: Role) -> Client:
    client = Client()
    client.force_login(make_member(role))
    return client


@pytest.fixture
def report() -> ArticleTemplate:
    template = ArticleTemplate.objects.create(
        name="Match report", channel=make_channel("Sport"), title="Match:", summary="Score", body="<p>Goals</p>"
    )
    template.tags.add(Tag.objects.create(name="football"))
    return template


def test_the_chief_manages_templates_and_editors_do_not() -> None:
    chief = client_of(Role.CHIEF)
    typed = {"name": "Match report", "body": "<p onclick='x'>Goals</p>", "title": "", "summary": ""}
    assert chief.post(f"{TEMPLATES}add/", typed).status_code == HTTPStatus.FOUND
    assert ArticleTemplate.objects.get().body == "<p>Goals</p>"
    assert client_of(Role.EDITOR).get(TEMPLATES).status_code == HTTPStatus.FORBIDDEN


def test_a_template_is_made_of_an_article() -> None:
    channel = make_channel()
    article = make_article("Derby", body="<p>Goals</p>", channel=channel)
    form = client_of(Role.CHIEF).get(f"{TEMPLATES}add/?article={article.pk}").context["adminform"].form
    assert (form.initial["name"], form.initial["body"], form.initial["channel"]) == (
        "Derby",
        "<p>Goals</p>",
        channel.pk,
    )


def test_an_article_begins_with_the_text_and_tags_of_its_template(report: ArticleTemplate) -> None:
    client = client_of(Role.AUTHOR)
    form = client.get(f"{ADD}?template={report.pk}").context["adminform"].form
    assert (form.initial["title"], form.initial["summary"], form.initial["body"]) == ("Match:", "Score", "<p>Goals</p>")
    assert form.initial["channel"] == report.channel_id
    assert list(form.initial["tags"]) == [report.tags.get().pk]
    assert "template" not in form.initial
    assert client.get(f"{ADD}?template=x").status_code == HTTPStatus.OK
    assert Article.objects.count() == 0


def test_the_writer_of_a_template_contributes_to_articles_that_begin_with_it() -> None:
    chief, author, other = (make_member(role) for role in (Role.CHIEF, Role.AUTHOR, Role.REVIEWER))
    desk, writing = Client(), Client()
    desk.force_login(chief)
    writing.force_login(author)
    desk.post(f"{TEMPLATES}add/", {"name": "Report", "title": "Match", "summary": "Score", "body": "<p>Goals</p>"})
    begun = f"{ADD}?template={ArticleTemplate.objects.get().pk}"
    form = {"title": "Match", "summary": "Score", "body": "<p>Goals</p>", "seen": "", "cover_mode": "auto"}
    assert writing.post(begun, {**form, "_continue": "1"}).status_code == HTTPStatus.FOUND
    article = Article.objects.get()
    publishing.submit(article, by=author)
    revision = article.revision
    with pytest.raises(NotAllowed, match="contributed"):
        publishing.approve(article, by=chief, revision=revision)
    publishing.approve(article, by=other, revision=revision)


def test_templates_of_enabled_channels_are_offered_to_users_who_may_write(report: ArticleTemplate) -> None:
    ArticleTemplate.objects.create(name="Obituary")
    editor, author = Client(), client_of(Role.AUTHOR)
    editor.force_login(make_editor())
    for address in ("/admin/articles/article/", "/admin/desk/monitoring/", ADD):
        for client in (editor, author):
            page = client.get(address).text
            assert f"?template={report.pk}" in page
            assert "Obituary" in page
    assert "Obituary" not in client_of(Role.PUBLISHER).get("/admin/articles/article/").text
    Channel.objects.update(enabled=False)
    page = editor.get("/admin/articles/article/").text
    assert "Match report" not in page
    assert "Obituary" in page


def test_what_was_typed_into_a_template_that_was_deleted_since_is_shown() -> None:
    desk = client_of(Role.CHIEF)
    template = ArticleTemplate.objects.create(name="Match")
    address = f"{TEMPLATES}{template.pk}/change/"
    template.delete()
    page = desk.post(address, {"name": "Match", "body": "An hour of typing"})
    assert (page.status_code, "An hour of typing</textarea>" in page.text) == (404, True)
    assert "It does not exist any more." in page.text
    assert desk.post(address, {"name": ""}).status_code == desk.get(address).status_code == 302
