"""Import formats: JSON Lines, CSV of spreadsheets, and WXR, valid and broken."""

from __future__ import annotations

import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import pytest

from articles.exchange.formats import READERS
from articles.models import Article
from tests.articles.factories import make_user, publish_tasks
from tests.articles.import_files import WXR, Result, counts, post, run_import, term, write_lines, write_wxr

pytestmark = pytest.mark.django_db
Status = Article.Status


def import_bytes(path: Path, content: bytes, *options: str) -> Result:
    path.write_bytes(content)
    return run_import(path, *options)


def titles() -> list[str]:
    return list(Article.objects.order_by("pk").values_list("title", flat=True))


# Which format


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", b'{"title": "One"}\n'),
        ("a.ndjson", b'{"title": "One"}\n'),
        ("a.csv", b"title\nOne\n"),
        ("export", b'\xef\xbb\xbf{"title": "One"}\n'),
        ("export.txt", b"slug,title\none,One\n"),
        ("export.old", (WXR % post(1, title="One")).encode()),
    ],
)
def test_the_format_is_guessed_from_name_or_content(tmp_path: Path, name: str, content: bytes) -> None:
    assert import_bytes(tmp_path / name, content).summary == counts(created=1)
    assert titles() == ["One"]


def test_the_format_can_be_named(tmp_path: Path) -> None:
    assert import_bytes(tmp_path / "a.txt", b"Title\nOne\n", "--format", "csv").code == 0


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("a.bin", b"\x00\x01", "set it with --format"),
        ("a.jsonl", b"\x1f\x8b\x08\x00\xff\n\n", "is compressed; unpack it first"),
        ("a.jsonl", b'[{"title": "One"}]\n', "No line is a JSON object"),
        ("a.jsonl", b'{\n  "title": "One"\n}\n', "No line is a JSON object"),
        ("a.csv", b"", 'name the columns, among them "title"'),
        ("a.csv", b"headline,body\nOne,text\n", 'name the columns, among them "title"'),
        ("a.csv", b"title,Title\nOne,Two\n", "Two columns have the same name"),
        ("a.csv", b'title\nOne\n"never closed\n', "Line 3"),
        ("a.csv", b'title\n"One" and more\n', "Line 2"),
        ("a.csv", "title\nOne\nCaf\u00e9\n".encode("cp1252"), "such as cp1252 or gb18030"),
        ("a.csv", "title\n标题\n".encode("gb18030"), "is not UTF-8"),
        ("a.xml", b"", "The XML is not well-formed"),
        ("a.xml", (WXR % post(1)).encode()[:-40], "The XML is not well-formed"),
        ("a.wxr", b"<rss><channel><item><title>One</title></item></channel></rss>", "not a WordPress export"),
        ("a.wxr", b"<rss><channel></channel></rss>", "not a WordPress export"),
    ],
)
def test_an_unreadable_file_imports_nothing(tmp_path: Path, name: str, content: bytes, complaint: str) -> None:
    result = import_bytes(tmp_path / name, content)

    assert (result.code, result.lines) == (2, [])
    assert complaint in result.error
    assert name in result.error
    assert not Article.objects.exists()


@pytest.mark.parametrize("name", ["missing.jsonl", "missing", "."])
def test_a_missing_file_and_a_folder_are_reported(tmp_path: Path, name: str) -> None:
    assert run_import(tmp_path / name).code == 2


def test_an_unknown_encoding_is_refused(tmp_path: Path) -> None:
    assert import_bytes(tmp_path / "a.csv", b"title\nOne\n", "--encoding", "klingon").code == 2


def test_formats_that_are_not_built_are_not_offered(tmp_path: Path) -> None:
    result = run_import(tmp_path / "a.json", "--format", "klingon")

    assert "invalid choice" in result.error


@pytest.mark.cases(1)
@pytest.mark.parametrize("name", ["jsonl", "csv", "wxr"])
def test_reading_takes_little_memory_for_any_size_of_file(tmp_path: Path, name: str) -> None:
    file, body = tmp_path / "large", "Ferry news. " * 500
    if name == "wxr":
        write_wxr(file, *(post(number, body=body) for number in range(2000)))
    elif name == "csv":
        file.write_text("title,body\n" + f'One,"{body}"\n' * 2000)
    else:
        write_lines(file, *[{"title": "One", "body": body}] * 2000)

    tracemalloc.start()
    assert sum(1 for _record in READERS[name](file, encoding="utf-8")) == 2000
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < file.stat().st_size / 5


# JSON Lines


def test_broken_lines_are_reported_and_the_others_are_imported(tmp_path: Path) -> None:
    lines = [
        b'{"title": "One"}', b"", b'{"title": ', b'["Two"]', '{"title": "Caf\u00e9"}'.encode("latin-1"),
        b"[" * 100_000, b'{"title": ' + b"9" * 5000 + b"}", b'{"title": "Eight"}',
    ]  # fmt: skip

    result = import_bytes(tmp_path / "a.jsonl", b"\n".join(lines))

    assert result.code == 1
    assert result.summary == counts(created=2, failed=5)
    assert [remark.split(": ")[:3:2] for remark in result.remarks] == [
        ["line 3", "not valid JSON at column 10"],
        ["line 4", 'not a JSON object; each line must be one, such as {"title"'],
        ["line 5", "byte 15 is not UTF-8; save the file as UTF-8 or name its --encoding"],
        ["line 6", "not valid JSON"],
        ["line 7", "not valid JSON"],
    ]
    assert titles() == ["One", "Eight"]


def test_a_line_without_end_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("articles.exchange.json_lines.LONGEST_LINE", 100)
    write_lines(tmp_path / "a.jsonl", {"title": "One"}, {"title": "x" * 950}, {"title": "Three"})

    result = run_import(tmp_path / "a.jsonl")

    assert result.remarks == ["line 2: failed: longer than 100 bytes"]
    assert titles() == ["One", "Three"]


def test_an_empty_file_holds_no_articles(tmp_path: Path) -> None:
    result = import_bytes(tmp_path / "a.jsonl", b"")

    assert (result.code, result.lines) == (0, [counts()])


def test_another_encoding_can_be_named(tmp_path: Path) -> None:
    import_bytes(tmp_path / "a.jsonl", '{"title": "标题"}\n'.encode("gb18030"), "--encoding", "gb18030")

    assert titles() == ["标题"]


# CSV


@pytest.mark.parametrize(
    "content",
    [
        "title,slug,tags\r\n港口,port,a;b\r\n\r\nTwo,two,\r\n".encode(),
        "\ufefftitle;slug;tags\r\n港口;port;a,b\r\nTwo;two;\r\n".encode(),
        "Title\tSlug\tTags\r\n港口\tport\ta|b\r\nTwo\ttwo\t\r\n".encode("utf-16"),
        'title,slug,tags\n"港口",port,"a, b"\nTwo,two,""'.encode(),
    ],
    ids=["commas", "Excel with semicolons and mark", "Excel's Unicode text", "quoted, no last line end"],
)
def test_it_reads_what_spreadsheets_write(tmp_path: Path, content: bytes) -> None:
    result = import_bytes(tmp_path / "a.csv", content)

    assert (result.code, result.lines) == (0, [counts(created=2)])
    first = Article.objects.get(slug="port")
    assert (first.title, sorted(tag.name for tag in first.tags.all())) == ("港口", ["a", "b"])


def test_an_article_gets_as_many_tags_as_the_form_takes(tmp_path: Path) -> None:
    tags = ";".join(f"tag {number}" for number in range(60))
    result = import_bytes(tmp_path / "a.csv", f"title,tags\nPort,{tags}\n".encode())

    assert result.remarks == ["line 2: note: 60 tags: the first 50 are kept"]
    assert Article.objects.get().tags.count() == 50


def test_a_cell_may_hold_line_ends_and_places_count_lines(tmp_path: Path) -> None:
    content = b'title,body\nOne,"First.\n\nSecond."\n"",<hr>\nToo,many,cells\nToofew\nFive,\n'

    result = import_bytes(tmp_path / "a.csv", content)

    assert result.remarks == [
        "line 5: failed: title: is empty",
        "line 6: failed: 3 cells instead of 2; put quotation marks around a cell with a separator in it",
        "line 7: failed: 1 cells instead of 2; put quotation marks around a cell with a separator in it",
    ]
    assert Article.objects.get(title="One").body == "<p>First.</p>\n\n<p>Second.</p>"
    assert titles() == ["One", "Five"]


def test_a_code_page_can_be_named(tmp_path: Path) -> None:
    import_bytes(tmp_path / "a.csv", "title\nCaf\u00e9\n".encode("cp1252"), "--encoding", "cp1252")

    assert titles() == ["Café"]


# WXR


def test_a_post_of_wordpress_becomes_an_article(tmp_path: Path) -> None:
    file = write_wxr(
        tmp_path / "export.xml",
        post(
            5, title="Ships &amp; Tides", slug="%e6%b8%af%e5%8f%a3", summary="<em>Short.</em>",
            body="<!-- wp:paragraph -->\n<p>High water.</p>\n<!-- /wp:paragraph -->",
            terms=term("category", "Uncategorized") + term("category", "Port &amp; Sea") + term("category", "News")
            + term("post_tag", "tides") + term("post_format", "Aside"),
        ),
    )  # fmt: skip

    assert run_import(file).lines == [
        "note: 1 record: the post format (Aside) is skipped",
        counts(created=1),
    ]

    article = Article.objects.get()
    assert (article.title, article.slug, article.summary) == ("Ships & Tides", "港口", "Short.")
    assert (article.body, article.byline, article.author) == ("<p>High water.</p>", "Mei Li", None)
    assert article.status == Status.PUBLISHED
    assert article.publish_at == article.published_at == datetime(2024, 3, 1, 8, 30, tzinfo=UTC)
    assert article.channel is not None
    assert article.channel.name == "Port & Sea"
    assert {tag.name for tag in article.tags.all()} == {"News", "tides"}
    assert article.external_id == "https://gazette.example/?p=5"


def test_an_author_of_the_export_is_found_by_address(tmp_path: Path) -> None:
    mei = make_user("lead")
    mei.email = "mei@gazette.example"
    mei.save()

    run_import(write_wxr(tmp_path / "export.xml", post(1)))

    assert Article.objects.get().author == mei


def test_scheduled_posts_keep_their_time(tmp_path: Path) -> None:
    """R0.1"""
    file = write_wxr(tmp_path / "export.xml", post(1, status="future", date="2126-03-01 08:30:00"))

    run_import(file)

    article = Article.objects.get()
    assert (article.status, publish_tasks(article)) == (
        Status.APPROVED, [datetime(2126, 3, 1, 8, 30, tzinfo=UTC)],
    )  # fmt: skip


def test_scheduled_posts_that_are_past_due_are_held(tmp_path: Path) -> None:
    result = run_import(write_wxr(tmp_path / "export.xml", post(3, status="future")))

    assert result.remarks == ["item 1 (post 3): note: was due at 2024-03-01 08:30:00 UTC; imported as a draft"]
    assert Article.objects.get().status == Status.DRAFT


def test_private_posts_become_drafts(tmp_path: Path) -> None:
    file = write_wxr(tmp_path / "export.xml", post(1, status="private"), post(2, password="secret"))

    result = run_import(file)

    assert [remark.partition("note: ")[2] for remark in result.remarks] == ["private; imported as a draft"] * 2
    assert set(Article.objects.values_list("status", flat=True)) == {Status.DRAFT}


def test_missing_dates_are_taken_from_pub_date_or_omitted(tmp_path: Path) -> None:
    zeros = "0000-00-00 00:00:00"
    file = write_wxr(
        tmp_path / "export.xml",
        post(1, date=zeros, pub_date="Mon, 05 Feb 2024 16:53:10 +0100"),
        post(2, date=zeros, pub_date="Wed, 30 Nov -0001 00:00:00 +0000", status="draft"),
        post(3, date=zeros, pub_date="soon"),
    )

    assert run_import(file).remarks == [
        'item 3 (post 3): note: publish_at: "soon" is not a time such as 2026-11-21T07:00:00+08:00; imported as a draft'
    ]

    first, *others = Article.objects.order_by("pk")
    assert first.publish_at == datetime(2024, 2, 5, 15, 53, 10, tzinfo=UTC)
    assert [(one.publish_at, one.status) for one in others] == [(None, Status.DRAFT)] * 2


def test_pages_and_attachments_are_skipped_and_counted(tmp_path: Path) -> None:
    file = write_wxr(
        tmp_path / "export.xml",
        post(1), post(2, kind="page"), post(3, kind="attachment", status="inherit"), post(4, kind="attachment"),
        post(5, status="trash"),
    )  # fmt: skip

    result = run_import(file)

    assert (result.code, result.summary) == (0, counts(created=1, skipped=4))
    assert result.remarks == [
        "note: 1 page left out",
        "note: 2 × attachment left out",
        "note: 1 discarded post left out",
    ]


def test_a_broken_post_is_reported_and_the_others_are_imported(tmp_path: Path) -> None:
    file = write_wxr(tmp_path / "export.xml", post(11, date="soon"), post(12), post(13, status="limbo"))

    result = run_import(file)

    assert (result.code, result.summary) == (1, counts(created=2, failed=1))
    assert result.remarks[0].startswith('item 1 (post 11): note: publish_at: "soon+00:00" is not a time such as 2026')
    assert result.remarks[1].startswith('item 3 (post 13): failed: status: "limbo" is not known')


def test_a_post_without_a_guid_is_recognised_by_its_number_and_site(tmp_path: Path) -> None:
    nameless = post(1).replace('<guid isPermaLink="false">https://gazette.example/?p=1</guid>', "")

    run_import(write_wxr(tmp_path / "export.xml", nameless))

    assert Article.objects.get().external_id == "https://gazette.example?p=1"


BOMB = '<!DOCTYPE r [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
SPY = '<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]>'


@pytest.mark.parametrize("doctype", [BOMB, SPY])
def test_entities_are_refused(tmp_path: Path, doctype: str) -> None:
    hostile = (WXR % post(1, body="]]>&a;<![CDATA[")).replace("<rss", f"{doctype}<rss", 1)

    result = import_bytes(tmp_path / "export.xml", hostile.encode())

    assert result.code == 2
    assert "entities or a document type" in result.error
    assert not Article.objects.exists()


def test_scripts_do_not_survive_an_import(tmp_path: Path) -> None:
    body = (
        '<p onclick="x()">Hi<script>alert(1)</script> <a href="javascript:x()">there</a></p><iframe src="//x"></iframe>'
    )

    run_import(write_wxr(tmp_path / "export.xml", post(1, body=body)))

    frame = '<a href="https://x" rel="noopener noreferrer">https://x</a>'
    assert Article.objects.get().body == f'<p>Hi <a rel="noopener noreferrer">there</a></p>\n\n<p>{frame}</p>'
