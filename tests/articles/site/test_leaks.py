"""No list of the site shows articles that are not live."""

from __future__ import annotations

import re

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from articles import publishing
from articles.models import Article, Channel, Tag
from tests.articles.factories import APPROVED, approve, make_article, make_channel, make_editor, soon

pytestmark = pytest.mark.django_db(transaction=True)

Status = Article.Status
SECRET = "Zanzibar"

FORMS = ("", "atom/", "json/")
SCOPES = ("/", "/channel/town/", "/tag/rain/", "/author/{author}/")
ENTRY_POINTS = [
    "/", "/latest/", "/channel/town/", "/tag/rain/", "/author/{author}/", "/article/{shown}/harbour-bridge-reopens/",
    "/search/?q=zanzibar", "/search/?channel=town", "/search/?tag=rain", "/search/?author={author}",
    "/search/?q=zanzibar&tag=rain", "/api/v1/articles/", "/api/v1/articles/{shown}/", "/api/v1/articles/?q=zanzibar",
    "/api/v1/articles/?q=text", "/search/?q=text",
    "/api/v1/articles/?tag=rain", "/api/v1/articles/?author={author}",
    "/api/v1/articles/?updated_since=2000-01-01T00:00:00Z", "/api/v1/channels/", "/api/schema/",
    "/sitemap.xml", "/sitemap-pages.xml", "/sitemap-0.xml", "/news-sitemap.xml", "/robots.txt",
    *(f"{scope}feed/{form}" for scope in SCOPES for form in FORMS),
]  # fmt: skip


@pytest.fixture
def shown() -> Article:
    """A live article with a pending update, among hidden articles."""
    author = User.objects.create_user("ada", first_name="Ada")
    town, tag, editor = make_channel("Town"), Tag.objects.create(name="Rain"), make_editor()
    values = {"channel": town, "author": author, "body": f"<p>{SECRET}</p>", "summary": SECRET}
    others = hidden(values)
    for article in others:
        article.tags.add(tag)
    body = "<p>Text of the bridge</p>" + "".join(map(linked, others))
    article = make_article(status=Status.PUBLISHED, publish_at=soon(hours=-2), channel=town, author=author, body=body)
    article.tags.add(tag)
    for changes in ({"title": f"{SECRET} approved"}, {"body": f"{SECRET} drafted"}):
        publishing.edit(article, by=editor, changes=changes)
        publishing.submit(article, by=editor)
        approve(article)
    publishing.edit(article, by=editor, changes={"summary": SECRET, "slug": SECRET})
    return article


def hidden(values: dict[str, object]) -> list[Article]:
    """One of each kind that readers must not see."""
    past, future = soon(minutes=-9), soon(hours=1)
    states: list[dict[str, object]] = [
        *({"status": status, "publish_at": past} for status in set(Status) - set(Status.visible())),
        {"status": APPROVED, "publish_at": None},
        {"status": APPROVED, "publish_at": future},
        {"status": Status.PUBLISHED, "publish_at": past, "embargo_until": future},
        {"status": Status.PUBLISHED, "publish_at": soon(hours=-1), "unpublish_at": past},
    ]
    return [make_article(f"{SECRET} {n}", **{**values, **state}) for n, state in enumerate(states)]


def linked(article: Article) -> str:
    """HTML with the article's address as links and as text."""
    address = article.get_absolute_url()
    return (
        f'<p><a href="{address}">Read</a> <a href="{settings.SITE_URL}{address}" title="{address}">{address}</a>'
        f' {settings.SITE_URL}{address}</p><blockquote cite="{address}">Said</blockquote>'
    )


def test_articles_that_are_not_live_are_at_no_url(shown: Article) -> None:
    """R5.5"""
    for source in ENTRY_POINTS:
        response = Client().get(source.format(shown=shown.pk, author=shown.author_id))
        assert response.status_code == 200, source
        text = response.text.replace("q=zanzibar", "").replace('value="zanzibar"', "")
        assert SECRET.lower() not in text.lower(), source
        if "feed" in source or "tag=" in source and "q=" not in source:
            assert "Harbour bridge reopens" in text, source


def test_hidden_articles_give_the_same_response_as_unknown_ones(shown: Article) -> None:
    unknown = page(10**9)
    for article in Article.objects.exclude(pk=shown.pk).exclude(status=Status.RETRACTED):
        assert page(article.pk) == unknown
        assert Client().get(f"/article/{article.pk}/").status_code == 404
        assert Client().get(article.get_absolute_url()).status_code == 404


def test_tags_authors_and_channels_of_hidden_articles_alone_have_no_feeds(shown: Article) -> None:
    unknown = [Client().get(address).status_code for address in ("/tag/nothing/feed/", "/author/999/feed/")]
    shown.delete()
    addresses = ["/tag/rain/feed/", f"/author/{shown.author_id}/feed/"]
    assert [Client().get(source).status_code for source in addresses] == unknown == [404, 404]
    assert Channel.objects.count() == 1


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    "source",
    ["/api/v1/desk/articles/{}/", "/api/v1/desk/articles/{}/revisions/", "/admin/articles/article/{}/change/"],
)
def test_anonymous_users_cannot_learn_from_the_admin_which_articles_exist(shown: Article, source: str) -> None:
    responses = set()
    for pk in (shown.pk - 1, 10**9):
        response = Client().get(source.format(pk))
        headers = str(sorted(set(response.headers.items()) - {("Expires", response.get("Expires"))}))
        responses.add((response.status_code, response.text, headers.replace(str(pk), "")))
    assert len(responses) == 1
    assert next(iter(responses))[0] in (302, 401, 403)


def page(pk: int) -> tuple[int, str]:
    """Status and content of an article's page, without what is different in each: its own address and a token."""
    response = Client().get(f"/article/{pk}/x/")
    text = re.sub(r'csrfmiddlewaretoken" value="\w+"', "", response.text)
    return response.status_code, text.replace(f"/article/{pk}/", "")
