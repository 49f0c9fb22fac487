"""Comparisons as they are shown in review, revisions and API: rendered text with marks, and never foreign content."""

from __future__ import annotations

import re
import sys
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.cache import caches
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from playwright.sync_api import Page
from rest_framework.test import APIClient

from articles import publishing
from articles.desk.comparison import ShownRow, _first
from articles.models import Article, Update
from articles.publishing import comparison
from articles.text import Row, RowChange, compare_bodies
from tests.articles.browsers import sign_in
from tests.articles.factories import make_article, make_editor, make_user, soon
from tests.articles.image_files import make_image
from tests.conftest import Site

pytestmark = pytest.mark.django_db

EVIL = "https://evil.example/{n}"
RUN = "document.title=1"
ATTACKS = (
    f"<script>{RUN}</script>",
    "<style>body{display:none}</style>",
    f'<p onclick="{RUN}" style="color:red">now {{n}}</p>',
    f'<p><a href="javascript:{RUN}">link {{n}}</a></p><p><a href=" java&#10;script:{RUN}">other {{n}}</a></p>',
    f'<p><img src="{EVIL}.png" onerror="{RUN}" alt="pixel"></p><figure><img src="//evil.example/{{n}}.svg"></figure>',
    f'<video src="{EVIL}" poster="//evil.example/p"></video><audio src="{EVIL}"></audio>',
    f'<p><picture><source srcset="{EVIL}"><img src="data:image/svg+xml,{{n}}"></picture></p>',
    f'<p title="&quot;><script>{RUN}</script>">title {{n}}</p><p><ins>forged {{n}}</ins> <del>mark</del></p>',
    f'<iframe src="{EVIL}"></iframe><object data="{EVIL}"></object><svg><image href="{EVIL}"/></svg>',
    f"<p>&lt;script&gt;{RUN}&lt;/script&gt; text {{n}}</p><table><tr><td><img src={EVIL}>{{n}}</table>",
)


def two_revisions(old: str, new: str, **changes: Any) -> Article:
    """A live article with an update that waits for review; both texts are stored as they are."""
    article = make_article("Old", body=old, status=Article.Status.PUBLISHED, publish_at=soon(hours=-1))
    editor = User.objects.filter(username="alice").first() or make_editor()
    publishing.edit(article, by=editor, changes={"body": new, **changes})
    publishing.submit(article, by=editor)
    return article


def addresses(article: Article) -> list[str]:
    """The screens that compare its two revisions."""
    return [
        f"/admin/articles/article/{article.pk}/revisions/2/",
        f"/admin/articles/queuedarticle/{article.pk}/change/",
    ]


@pytest.fixture
def desk(client: Client) -> Client:
    client.force_login(make_editor("bob"))
    return client


def fields(page: str) -> str:
    """The HTML of the comparison alone."""
    return "".join(re.findall(r'<section class="diff-field.*?</section>', page, re.DOTALL))


def test_words_formats_links_and_kinds_are_marked_and_said_on_each_screen(desk: Client) -> None:
    article = two_revisions(
        '<p>The bridge opens at seven.</p><h2>Sub</h2><p>See <a href="https://a.example/x">the list</a>.</p>',
        '<p>The <em>bridge</em> opens at eight.</p><h3>Sub</h3><p>See <a href="https://b.example/x">the list</a>.</p>',
    )
    for address in addresses(article):
        shown = fields(desk.get(address).text)
        assert '<span class="diff-look"><em>bridge</em></span> opens at <del>seven</del><ins>eight</ins>.' in shown
        assert (
            '<div class="diff-text diff-p">The <span class="diff-look">bridge</span> opens at <del>seven</del>.'
            in shown
        )
        for note in ("now italic: “bridge”", "heading level 2 → 3", "link: a.example → b.example: “the list”"):
            assert f"<li>{note}</li>" in shown
        assert "&lt;" not in shown


def test_nothing_of_a_hostile_text_gets_into_a_comparison(desk: Client, settings: Any) -> None:
    settings.FOREIGN_MEDIA_HOSTS = ["*"]
    old, new = ("".join(attack.replace("{n}", side) for attack in ATTACKS) for side in ("one", "two"))
    looks_clean = f'<p onclick="{RUN}"><a href="javascript:{RUN}">link {{n}}</a> <ins>forged </ins></p>'
    unsanitised = (looks_clean.replace("{n}", side) for side in ("one", "two"))
    for bodies in ((old, new), (new + "<p>end</p>", old), unsanitised):
        article = two_revisions(*bodies)
        Update.objects.update(status=Article.Status.MANUAL_REVIEW)  # whatever the review found
        for address in addresses(article):
            shown = fields(desk.get(address).text)
            assert shown
            tags = {tag.lower() for tag in re.findall(r"<([a-z0-9]+)", shown)}
            assert tags <= {
                *("section", "h3", "div", "span", "p", "ul", "li", "ins", "del", "u", "s", "details", "summary"),
                *("table", "tbody", "tr", "td", "a"),
            }
            assert not re.findall(r"""<[^>]*\s(?:on\w+|style|src|srcset|poster)=""", shown)
            assert not re.findall(r'href="\s*(?!https?:|mailto:|tel:|/)', shown)
            assert re.search("<u>forged ?</u>", shown), "the author's own marks are none of ours"


@pytest.mark.django_db(transaction=True)
def test_a_comparison_loads_nothing_foreign_and_runs_nothing(page: Page, site: Site, settings: Any) -> None:
    settings.FOREIGN_MEDIA_HOSTS = ["*"]
    old, new = ("".join(attack.replace("{n}", side) for attack in ATTACKS) for side in ("one", "two"))
    article = two_revisions(old, new)
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    sign_in(page)
    page.goto(addresses(article)[0], wait_until="networkidle")
    page.locator(".diff-field details").evaluate_all("all => all.forEach(one => one.open = true)")
    assert page.title() != "1"
    assert page.locator(".diff-field del").count()
    assert [url for url in requested if not url.startswith(site.url)] == []


@pytest.mark.cases(1)
@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.django_db(transaction=True)
def test_the_columns_stay_in_step_and_are_one_on_a_phone(page: Page, width: int) -> None:
    old = "<p>First.</p><p>Gone for good, this one.</p><p>The same in both.</p><p>Last old word.</p>"
    article = two_revisions(old, "<p>First.</p><p>The same in both.</p><p>Something new here.</p><p>Last new word.</p>")
    page.set_viewport_size({"width": width, "height": 900})
    sign_in(page)
    page.goto(addresses(article)[0])
    rows = page.locator(".diff-row:has(.diff-old:not(:empty))")
    sides = rows.evaluate_all("""all => all.map(row => ["old", "new"].map(
        (side) => row.querySelector(`.diff-${side}`).getBoundingClientRect()).map((box) => [box.top, box.width]))""")
    assert sides
    shown = page.locator(".diff-field").inner_text()
    if width > 1024:
        assert all(old[0] == new[0] and old[1] > 0 for old, new in sides)
    else:
        assert [shown.count(text) for text in ("First.", "Gone for good", "Something new", "word.")] == [1, 1, 1, 1]
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_images_of_the_library_stand_side_by_side_and_their_texts_are_said(desk: Client) -> None:
    alice = make_editor()
    first, second = (make_image(alice, name) for name in ("harbour", "tower"))
    figure = '<figure><img src="/media/{}/1280.jpg" alt="{}"><figcaption>Seen on {}</figcaption></figure>'
    old = figure.format(first.pk, "a ship", "Sunday") + f'<p><img src="/media/{first.pk}/1280.jpg" alt="before"></p>'
    new = figure.format(second.pk, "a ship", "Monday") + f'<p><img src="/media/{first.pk}/1280.jpg" alt="after"></p>'
    article = two_revisions(old, new, cover_mode="one", cover=[str(second.pk)])
    shown = fields(desk.get(addresses(article)[0]).text)
    for pk, mark in ((first.pk, "del"), (second.pk, "ins")):
        assert f"/{pk}/" in re.findall(rf"<{mark}><span[^>]*>\w+</span><picture>.*?</picture></{mark}>", shown)[0]
    assert "<li>image replaced</li>" in shown
    assert "Seen on <del>Sunday</del><ins>Monday</ins>" in shown
    assert "alt text: “before” → “after”" in shown
    gone = f'<p><img src="/media/{uuid4()}/1280.jpg" alt="gone"></p>'
    assert "no longer in the library" in fields(desk.get(addresses(two_revisions(gone, "<p>a</p>"))[0]).text)


def test_a_change_of_which_nothing_is_seen_is_shown(desk: Client) -> None:
    article = two_revisions("<p>One two</p><p>Three four</p>", "<p>One\u200btwo</p><p>Three<br>four</p>")
    shown = fields(desk.get(addresses(article)[0]).text)
    assert '<span class="diff-unseen">U+200B</span>' in shown
    assert '<span class="diff-unseen">↵</span>' in shown


def test_long_unchanged_parts_are_folded(desk: Client) -> None:
    same = "".join(f"<p>Paragraph {number}.</p>" for number in range(10))
    article = two_revisions(f"<p>One old.</p>{same}", f"<p>One new.</p>{same}")
    shown = fields(desk.get(addresses(article)[0]).text)
    assert "<summary>9 unchanged paragraphs</summary>" in shown
    assert "Paragraph 9." in shown
    many = "".join(f"<p>Paragraph {number}.</p>" for number in range(100))
    shown = fields(desk.get(addresses(two_revisions(f"<p>One old.</p>{many}", f"<p>One new.</p>{many}"))[0]).text)
    assert "99 unchanged paragraphs" in shown
    assert "Paragraph 50." not in shown


def test_a_long_comparison_is_cut_except_where_one_decides_about_it(desk: Client) -> None:
    old, new = ("".join(f"<p>Line {number}{end}</p>" for number in range(400)) for end in (" old.", " new."))
    revision, review = addresses(two_revisions(old, new))
    page = desk.get(revision)
    assert len(page.content) < 64 * 1024
    more = re.search(r'(\d+) more changes <a class="desk-link" href="(.*?)">Show all</a>', page.text)
    assert more
    assert 100 < int(more[1]) < 400
    for address in (revision + more[2], review):
        whole = fields(desk.get(address).text)
        assert "Line 399 <del>old</del><ins>new</ins>." in whole
        assert "more changes" not in whole


def test_a_comparison_is_calculated_once_and_shown_to_none_who_may_not_see_it(
    desk: Client, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    caches["comparisons"].clear()
    article = two_revisions("<p>Old.</p>", "<p>New.</p>")
    calls: list[Any] = []

    def counted(*texts: Any) -> Any:
        calls.append(texts)
        return compare_bodies(*texts)

    monkeypatch.setattr(comparison, "compare_bodies", counted)
    pages = [fields(desk.get(address).text) for address in (*addresses(article), *addresses(article))]
    assert len(calls) == 1
    assert all("<ins>New.</ins>" in page for page in pages)
    stranger = Client()
    stranger.force_login(make_user("eve"))
    assert [stranger.get(address).status_code for address in addresses(article)] == [403, 403]
    api = f"/api/v1/desk/articles/{article.pk}/revisions/2/diff/"
    assert client.get(api).status_code == 200
    assert Client().get(api).status_code in (401, 403)
    assert stranger.get(api).status_code == 403


def test_the_number_of_queries_does_not_grow_with_the_images(desk: Client) -> None:
    alice = make_editor()
    pks = [make_image(alice).pk for _number in range(4)]
    taken = []
    for count in (1, 4):
        figures = "".join(f'<p><img src="/media/{pk}/1280.jpg" alt="{{}}"></p>' for pk in pks[:count])
        article = two_revisions(figures.replace("{}", "old"), figures.replace("{}", "new"))
        desk.get(addresses(article)[0])
        with CaptureQueriesContext(connection) as queries:
            desk.get(addresses(article)[0])
        taken.append(len(queries))
    assert taken[0] == taken[1]


def test_a_long_comparison_of_the_api_ends_unless_all_is_asked_for() -> None:
    program = APIClient()
    program.force_login(make_editor("bob"))
    old, new = ("".join(f"<p>Line {number} {word}.</p>" for number in range(500)) for word in ("old", "new"))
    address = f"/api/v1/desk/articles/{two_revisions(old, new).pk}/revisions/2/diff/"
    answer = program.get(address)
    (first,), (whole,) = answer.json(), program.get(f"{address}?all=true").json()
    assert len(answer.content) < 64 * 1024
    assert (first["is_cut"], whole["is_cut"]) == (True, False)
    assert whole["blocks"][: len(first["blocks"])] == first["blocks"]
    assert whole["pieces"][: len(first["pieces"])] == first["pieces"]
    assert (len(whole["blocks"]), whole["pieces"][-2]["text"]) == (500, "new")
    assert program.get(f"{address}?all=perhaps").status_code == 400


def test_the_api_gives_blocks_with_operations() -> None:
    program = APIClient()
    program.force_login(make_editor("bob"))
    table = "<table><tbody><tr><td>Oslo</td><td>{}</td></tr></tbody></table>"
    moved = "<p>Crews worked through the night.</p>"
    article = two_revisions(
        f"{moved}<p>The bridge opens.</p><p>Same.</p>{table.format(3)}",
        f"<p>The <b>bridge</b> closes.</p><p>Same.</p>{table.format(5)}{moved}",
    )
    (field,) = program.get(f"/api/v1/desk/articles/{article.pk}/revisions/2/diff/").json()
    assert field["field"] == "body"
    away, words, same, cells, here = field["blocks"]
    assert (away["change"], away["old"], away["new"]) == ("moved_away", 0, 3)
    assert (here["change"], here["old"], here["new"]) == ("moved", 0, 3)
    assert [(part["change"], part["text"]) for part in words["operations"]] == [
        ("kept", "The "), ("kept", "bridge"), ("kept", " "), ("removed", "opens"), ("added", "closes"), ("kept", "."),
    ]  # fmt: skip
    assert words["operations"][1]["look"] == {"formats": ["bold"], "link": ""}
    assert words["operations"][1]["was"] == {"formats": [], "link": ""}
    assert words["notes"] == ["now bold: “bridge”"]
    assert (same["change"], same["count"]) == ("kept", 1)
    operations = cells["table"][0]["cells"][1]["operations"]
    assert [(part["change"], part["text"]) for part in operations] == [("removed", "3"), ("added", "5")]
    assert "".join(piece["text"] for piece in field["pieces"] if piece["change"] != "removed").startswith(
        "Crews worked through the night.\n\nThe bridge closes.\n\nSame."
    )


def test_the_newest_revision_is_not_restored_and_each_is_named(desk: Client) -> None:
    article = two_revisions("<p>Old.</p>", "<p>New.</p>")
    newest, first = (desk.get(f"/admin/articles/article/{article.pk}/revisions/{number}/").text for number in (2, 1))
    assert "Revision 2, compared with revision 1." in newest
    assert ("Restore this revision" in newest, "Restore this revision" in first) == (False, True)


def test_the_changes_that_follow_are_counted_once() -> None:
    rows, calls = [Row(RowChange.ADDED) for _number in range(300)], 0

    def count(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event == "c_call"

    shown_rows = [ShownRow(RowChange.KEPT) for _row in rows]
    sys.setprofile(count)
    try:
        found = list(_first(shown_rows, rows))
    finally:
        sys.setprofile(None)
    assert found[-1].is_more
    assert calls < 10 * len(rows)
