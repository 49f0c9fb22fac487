"""Import of Ghost exports: posts with tags, users and times, from all editors, valid and broken."""

from __future__ import annotations

import json
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from articles.exchange.formats import READERS
from articles.exchange.records import Record
from articles.models import Article
from tests.articles.factories import make_user, publish_tasks
from tests.articles.import_files import counts, run_import

pytestmark = pytest.mark.django_db
Status = Article.Status
Rows = list[dict[str, Any]]


def ghost_post(number: int = 1, **changes: Any) -> dict[str, Any]:
    """A row of the table of posts."""
    return {
        "id": f"65f0{number:020x}", "uuid": f"00000000-0000-4000-8000-{number:012}", "title": f"Post {number}",
        "slug": f"post-{number}", "mobiledoc": None, "lexical": None, "html": "<p>Some text.</p>",
        "plaintext": "Some text.", "feature_image": None, "featured": 0, "type": "post", "status": "published",
        "visibility": "public",
        "created_at": "2024-02-28T10:00:00.000Z", "published_at": "2024-03-01T08:30:00.000Z", "custom_excerpt": None,
        **changes,
    }  # fmt: skip


def write_ghost(path: Path, *posts: dict[str, Any], wrapped: bool = True, **tables: Rows) -> Path:
    """An export; the posts stand before what they refer to, as the tables do."""
    export = {"meta": {"exported_on": 1710000000000, "version": "5.80.0"}, "data": {"posts": list(posts), **tables}}
    path.write_text(json.dumps({"db": [export]} if wrapped else export), encoding="utf-8")
    return path


def imported(path: Path, *posts: dict[str, Any], **tables: Rows) -> Article:
    """The only article of an export with these tables."""
    result = run_import(write_ghost(path / "export.json", *posts, wrapped=True, **tables))
    assert result.code == 0, result
    return Article.objects.get()


@pytest.mark.parametrize("date", [0, 0.0, False, True])
def test_what_is_no_time_is_not_the_year_1970(tmp_path: Path, date: object) -> None:
    article = imported(tmp_path, ghost_post(published_at=date, created_at=None))
    assert (article.status, article.publish_at) == (Status.DRAFT, None)


def test_a_post_of_ghost_becomes_an_article(tmp_path: Path) -> None:
    post = ghost_post(
        title="Ships & Tides", slug="ships", custom_excerpt="Short & good.", html="<p>High water.<br>Twice.</p>"
    )
    tags = [
        {"id": "t1", "name": "#internal", "visibility": "internal"}, {"id": "t2", "name": "Port & Sea"},
        {"id": "t3", "name": "Tides", "visibility": "public"},
    ]  # fmt: skip
    article = imported(
        tmp_path,
        post,
        posts_authors=[{"post_id": post["id"], "author_id": "u1", "sort_order": 0}],
        posts_tags=[
            {"post_id": post["id"], "tag_id": "t3", "sort_order": 2},
            {"post_id": post["id"], "tag_id": "t1", "sort_order": 0},
            {"post_id": post["id"], "tag_id": "t2", "sort_order": 1},
        ],
        tags=tags,
        users=[{"id": "u1", "name": "Mei Li", "email": "mei@gazette.example"}],
    )

    assert (article.title, article.slug, article.summary) == ("Ships & Tides", "ships", "Short & good.")
    assert (article.body, article.byline, article.author) == ("<p>High water.<br>Twice.</p>", "Mei Li", None)
    assert (article.status, str(article.channel)) == (Status.PUBLISHED, "Port & Sea")
    assert [tag.name for tag in article.tags.all()] == ["Tides"]
    assert article.publish_at == article.published_at == datetime(2024, 3, 1, 8, 30, tzinfo=UTC)
    assert article.external_id == f"ghost:{post['uuid']}"


def test_texts_for_search_and_shared_links_come_from_the_post_or_its_meta(tmp_path: Path) -> None:
    post = ghost_post(meta_title="Of an old export", og_title=None)
    meta = [{"post_id": post["id"], "og_title": "Shared", "og_description": "Long " * 120}]
    article = imported(tmp_path, post, posts_meta=meta)
    assert (article.search_title, article.social_title) == ("Of an old export", "Shared")
    assert article.social_summary.endswith("…") and len(article.social_summary) == 500


def test_known_authors_are_found_and_several_become_a_byline(tmp_path: Path) -> None:
    mei = make_user("lead")
    mei.email, mei.first_name = "mei@gazette.example", "Mei"
    mei.save()
    posts = [ghost_post(1), ghost_post(2)]
    authors = [(posts[0], "u1", 0), (posts[1], "u2", 1), (posts[1], "u1", 0)]
    file = write_ghost(
        tmp_path / "export.json",
        *posts,
        posts_authors=[{"post_id": post["id"], "author_id": pk, "sort_order": n} for post, pk, n in authors],
        users=[{"id": "u1", "name": "Mei Li", "email": mei.email}, {"id": "u2", "name": "Ola", "email": "o@x.example"}],
    )

    run_import(file)

    found = Article.objects.order_by("pk")
    assert [(article.author, article.byline) for article in found] == [(mei, ""), (mei, "Mei Li, Ola")]


def test_scheduled_posts_keep_their_time(tmp_path: Path) -> None:
    """R0.1"""
    article = imported(tmp_path, ghost_post(status="scheduled", published_at="2126-03-01T08:30:00.000Z"))

    assert (article.status, publish_tasks(article)) == (Status.APPROVED, [datetime(2126, 3, 1, 8, 30, tzinfo=UTC)])


def test_scheduled_posts_that_are_past_due_are_held(tmp_path: Path) -> None:
    result = run_import(write_ghost(tmp_path / "export.json", ghost_post(status="scheduled")))

    assert result.remarks == ["post 1 (post-1): note: was due at 2024-03-01 08:30:00 UTC; imported as a draft"]
    assert Article.objects.get().status == Status.DRAFT


@pytest.mark.parametrize(
    "changes", [{"status": "sent"}, {"visibility": "paid"}, {"visibility": "members", "status": "scheduled"}]
)
def test_private_posts_become_drafts(tmp_path: Path, changes: dict[str, Any]) -> None:
    result = run_import(write_ghost(tmp_path / "export.json", ghost_post(**changes)))

    assert result.remarks == ["post 1 (post-1): note: private; imported as a draft"]
    assert Article.objects.get().status == Status.DRAFT


def test_mail_only_posts_do_not_go_live(tmp_path: Path) -> None:
    post = ghost_post(status="scheduled", published_at="2126-03-01T08:30:00.000Z")

    article = imported(tmp_path, post, posts_meta=[{"post_id": post["id"], "email_only": 1}])

    assert article.status == Status.DRAFT


@pytest.mark.parametrize("moment", [1709281800000, "2024-03-01 08:30:00", "2024-03-01T08:30:00.000Z"])
def test_times_of_every_age_are_utc(tmp_path: Path, moment: object) -> None:
    assert imported(tmp_path, ghost_post(published_at=moment)).publish_at == datetime(2024, 3, 1, 8, 30, tzinfo=UTC)


def test_old_exports_are_read_too(tmp_path: Path) -> None:
    post = {
        "id": 5, "title": "Old", "slug": "old", "html": "<p>Old.</p>", "markdown": "Old.", "image": "/content/a.jpg",
        "page": 0, "status": "published", "author_id": 1, "created_at": 1388805572000, "published_at": 1388805572000,
    }  # fmt: skip
    file = write_ghost(
        tmp_path / "export.json", post, {**post, "id": 6, "page": 1}, wrapped=False,
        tags=[{"id": 3, "name": "Colorado"}], posts_tags=[{"tag_id": 3, "post_id": 5}],
        users=[{"id": 1, "name": "Joe", "email": "joe@x.example"}],
    )  # fmt: skip

    result = run_import(file)

    assert (result.code, result.summary) == (0, counts(created=1, skipped=1))
    assert result.remarks == ["note: 1 page left out"]
    article = Article.objects.get()
    assert (str(article.channel), article.byline) == ("Colorado", "Joe")
    assert article.body.startswith('<figure><img src="/content/a.jpg" alt=""></figure>')


def test_the_feature_image_is_above_the_text_with_its_caption(tmp_path: Path) -> None:
    post = ghost_post(feature_image="https://x.example/a.jpg?w=1&h=2")
    meta = {"post_id": post["id"], "feature_image_alt": 'A "ferry"', "feature_image_caption": "By <b>us</b>"}

    body = imported(tmp_path, post, posts_meta=[meta]).body

    image = '<img src="https://x.example/a.jpg?w=1&amp;h=2" alt="A &quot;ferry&quot;">'
    assert body == f"<figure>{image}<figcaption>By <b>us</b></figcaption></figure>\n\n<p>Some text.</p>"


def test_addresses_on_the_old_site_are_completed_when_it_is_named(tmp_path: Path) -> None:
    html = '<p><a href="__GHOST_URL__/tides/">x</a> <a href="__GHOST_URL__">home</a></p>'
    file = write_ghost(tmp_path / "export.json", ghost_post(html=html, feature_image="__GHOST_URL__/content/a.jpg"))

    without = run_import(file, "--dry-run")
    assert without.remarks == ["note: 1 record: links to the old site have no host; set it with --site https://…"]
    named = run_import(file, "--site", "https://old.example/")

    assert (named.code, named.remarks) == (0, [])
    body = Article.objects.get().body
    assert 'src="https://old.example/content/a.jpg"' in body
    assert ('href="https://old.example/tides/"' in body, 'href="https://old.example"' in body) == (True, True)
    assert "argument --site: write an address such as" in run_import(file, "--site", "old.example").error


def lexical_text(said: str, bits: int = 0) -> dict[str, Any]:
    return {"type": "extended-text", "text": said, "format": bits, "mode": "normal", "version": 1}


def lexical_node(kind: str, *children: Any, **more: Any) -> dict[str, Any]:
    return {"type": kind, "children": list(children), "version": 1, **more}


LEXICAL = lexical_node(
    "root",
    lexical_node("extended-heading", lexical_text("Tides & <ships>"), tag="h2"),
    lexical_node(
        "paragraph",
        lexical_text("High", 1),
        lexical_text(" and "),
        lexical_text("low", 3),
        {"type": "linebreak"},
        lexical_text("x()", 16),
    ),
    lexical_node("paragraph", lexical_node("link", lexical_text("there"), url="https://x.example/?a=1&b=2")),
    lexical_node(
        "list",
        lexical_node("listitem", lexical_text("one")),
        lexical_node("listitem", lexical_text("two")),
        tag="ol",
        listType="number",
        start=3,
    ),
    lexical_node("extended-quote", lexical_text("Said.")),
    {"type": "horizontalrule"},
    {"type": "image", "src": "https://x.example/a.jpg", "alt": "A ferry", "caption": "By <em>us</em>"},
    {"type": "html", "html": "<table><tr><td>7</td></tr></table>"},
    {"type": "codeblock", "code": "a < b", "language": "js"},
    {"type": "bookmark", "url": "https://y.example/", "metadata": {"title": "Why"}},
    {"type": "email-cta", "html": "<p>Subscribe!</p>"},
    {"type": "signup", "header": "Subscribe!"},
)


def test_a_post_without_html_is_rendered_from_lexical(tmp_path: Path) -> None:
    file = write_ghost(tmp_path / "export.json", ghost_post(html=None, lexical=json.dumps({"root": LEXICAL})))

    result = run_import(file)

    assert result.remarks == ["note: 1 record: the content of a “signup” card is skipped"]
    rel = 'rel="noopener noreferrer"'
    assert Article.objects.get().body.split("\n\n") == [
        "<h2>Tides &amp; &lt;ships&gt;</h2>",
        "<p><strong>High</strong> and <em><strong>low</strong></em><br><code>x()</code></p>",
        f'<p><a href="https://x.example/?a=1&amp;b=2" {rel}>there</a></p>',
        '<ol start="3"><li>one</li><li>two</li></ol>',
        "<blockquote>Said.</blockquote>",
        "<hr>",
        '<figure><img src="https://x.example/a.jpg" alt="A ferry"><figcaption>By <em>us</em></figcaption></figure>',
        "<table><tbody><tr><td>7</td></tr></tbody></table>",
        "<pre><code>a &lt; b</code></pre>",
        f'<p><a href="https://y.example/" {rel}>Why</a></p>',
    ]


def test_a_post_without_html_is_rendered_from_mobiledoc(tmp_path: Path) -> None:
    document = {
        "version": "0.3.1",
        "markups": [["strong"], ["em"], ["a", ["href", "https://x.example/"]]],
        "atoms": [["soft-return", "", {}]],
        "cards": [["image", {"src": "https://x.example/a.jpg", "caption": "Us"}], ["hr", {}], ["embed", {"url": "/e"}]],
        "sections": [
            [1, "h2", [[0, [], 0, "A & B"]]],
            [1, "p", [[0, [0, 1], 1, "both"], [0, [], 1, " bold"], [1, [], 0, 0], [0, [2], 1, "there"]]],
            [3, "ul", [[[0, [], 0, "one"]], [[0, [], 0, "two"]]]],
            [1, "p", []], [10, 0], [10, 1], [10, 2],
        ],
    }  # fmt: skip

    body = imported(tmp_path, ghost_post(html="", mobiledoc=json.dumps(document))).body

    rel = 'rel="noopener noreferrer"'
    assert body.split("\n\n") == [
        "<h2>A &amp; B</h2>",
        f'<p><strong><em>both</em> bold</strong><br><a href="https://x.example/" {rel}>there</a></p>',
        "<ul><li>one</li><li>two</li></ul>",
        '<figure><img src="https://x.example/a.jpg" alt=""><figcaption>Us</figcaption></figure>',
        "<hr>",
        f'<p><a href="/e" {rel}>/e</a></p>',
    ]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"lexical": '{"root": '}, "body: has a broken lexical document and no HTML; open the post in Ghost"),
        ({"lexical": '{"root": {"children": [7]}}'}, "body: has a broken lexical document"),
        ({"mobiledoc": '{"sections": [[10, 3]], "cards": []}'}, "body: has a broken mobiledoc document"),
        (
            {"mobiledoc": '{"sections": [[10, 0]], "cards": [["markdown", {}]]}'},
            "body: has a Markdown card and no HTML",
        ),
        ({"markdown": "*x*"}, "body: is Markdown without HTML; open the post in Ghost, save it"),
        ({"title": None}, "title: is empty"),
        ({"status": "limbo"}, 'status: "limbo" is not known'),
        ({"slug": ["x"]}, "slug: is not a text"),
    ],
)
def test_a_broken_post_is_reported_and_the_others_are_imported(
    tmp_path: Path, changes: dict[str, Any], complaint: str
) -> None:
    file = write_ghost(tmp_path / "export.json", ghost_post(1), ghost_post(2, html=None) | changes, ghost_post(3))

    result = run_import(file)

    assert (result.code, result.summary) == (1, counts(created=2, failed=1))
    assert result.remarks[0].split(": ", 2)[2].startswith(complaint)
    assert result.remarks[0].startswith("post 2 (")


@pytest.mark.parametrize(
    "time", ["yesterday", 10**18, "Fri, 30 Mar 2012 10:00 BST", -(10**15), "2012-03-30T10:00:00 XYZ"]
)
def test_a_post_with_an_unclear_time_is_held(tmp_path: Path, time: object) -> None:
    result = run_import(write_ghost(tmp_path / "export.json", ghost_post(1, published_at=time)))

    assert (result.code, result.summary) == (0, counts(created=1))
    assert f': note: publish_at: "{time}" ' in result.remarks[0]
    assert Article.objects.get().status == Article.Status.DRAFT


def test_a_repeated_import_skips_posts_and_a_duplicate_is_an_error(tmp_path: Path) -> None:
    file = write_ghost(tmp_path / "export.json", ghost_post(1), ghost_post(1, title="Again"))

    assert run_import(file).summary == counts(created=1, failed=1)
    assert run_import(file).summary == counts(skipped=1, failed=1)


def whole() -> bytes:
    return json.dumps({"db": [{"data": {"posts": [ghost_post(1)]}}]}).encode()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (whole()[:-3], "Not well-formed JSON"),
        (whole()[:100], "Not well-formed JSON"),
        (b"", "Not well-formed JSON"),
        (b"\x1f\x8b\x08\x00", "JSON must be UTF-8"),
        (whole().decode().encode("utf-16"), "JSON must be UTF-8"),
        (whole().replace(b"Some", b"Caf\xe9"), "JSON must be UTF-8"),
        (whole() + b"{}", "there is more text after the document"),
        (whole().replace(b", ", b" ", 1), "Not well-formed JSON near character"),
        (b'{"data": {"posts": [' + b"[" * 100_000, "Not well-formed JSON"),
        (whole().replace(b'"featured": 0', b'"featured": ' + b"9" * 9999), "Not well-formed JSON"),
        (b'{"db": [{"data": {"users": []}}]}', "not a Ghost export"),
        (b'[{"title": "One"}]', "not a Ghost export"),
    ],
)
def test_an_unreadable_file_imports_nothing(tmp_path: Path, content: bytes, complaint: str) -> None:
    (tmp_path / "export.json").write_bytes(content)

    result = run_import(tmp_path / "export.json", "--format", "ghost")

    assert (result.code, result.lines) == (2, [])
    assert complaint in result.error
    assert not Article.objects.exists()


def test_scripts_do_not_survive_an_import(tmp_path: Path) -> None:
    article = imported(tmp_path, ghost_post(html='<p onclick="x()">Hi<script>alert(1)</script></p>'))

    assert article.body == "<p>Hi</p>"


def test_where_a_chunk_of_the_file_ends_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    posts = [ghost_post(n, id=1234567890 + n, title=f'“{n}” \\ "\u6e2f😀', html=None) for n in range(3)]
    references = [{"post_id": post["id"], "tag_id": -1.5e300} for post in posts]
    file = write_ghost(tmp_path / "a.json", *posts, posts_tags=references, tags=[{"id": -1.5e300, "name": "Port"}])
    file.write_text(json.dumps(json.loads(file.read_text()), indent=3, ensure_ascii=False), encoding="utf-8-sig")
    whole = list(READERS["ghost"](file, encoding="utf-8"))

    for length in (1, 2, 7, 100):
        monkeypatch.setattr("articles.exchange.json_stream.CHUNK", length)
        assert list(READERS["ghost"](file, encoding="utf-8")) == whole
    assert [isinstance(record, Record) and record.fields["channel"] for record in whole] == ["Port"] * 3


def test_a_piece_without_end_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("articles.exchange.json_stream.MAX_VALUE_LENGTH", 1000)
    monkeypatch.setattr("articles.exchange.json_stream.CHUNK", 100)
    file = write_ghost(tmp_path / "a.json", ghost_post(1), ghost_post(2, html="x" * 9000))

    assert "a value is broken or longer than 1000 characters" in run_import(file).error


@pytest.mark.thorough
def test_reading_takes_little_memory_for_any_size_of_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("articles.exchange.json_stream.CHUNK", 50_000)
    file = write_ghost(tmp_path / "large", *(ghost_post(n, html="<p>Ferry news.</p>" * 300) for n in range(1000)))

    few = write_ghost(tmp_path / "few", ghost_post(1))
    assert len(list(READERS["ghost"](few, encoding="utf-8"))) == 1  # what is loaded once, such as texts, is no matter

    tracemalloc.start()
    assert sum(1 for _record in READERS["ghost"](file, encoding="utf-8")) == 1000
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < file.stat().st_size / 5
