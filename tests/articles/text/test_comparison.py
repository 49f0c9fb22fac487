"""How two bodies are compared: words, formats, links, images, moved blocks, items, cells, Chinese."""

from __future__ import annotations

import random

import pytest

from articles.desk.editor.body_field import as_shown
from articles.text import Change, Row, RowChange, compare_bodies, join, merge_bodies, plain_text, split
from articles.text.comparison import MOST_ROWS

MOVED = "<p>Crews worked through the night to replace the bearings.</p>"
OTHERS = "<p>The ferries run every hour.</p><p>Dogs must be on a lead here.</p>"


def rows(old: str, new: str) -> list[Row]:
    return compare_bodies(split(old), split(new))


def changed(old: str, new: str) -> Row:
    """The only row that is not unchanged."""
    (row,) = [row for row in rows(old, new) if row.change is not RowChange.KEPT]
    return row


def shown(row: Row) -> str:
    """The text with [removed|added] parts."""
    marks = {Change.KEPT: "{}", Change.REMOVED: "[{}|", Change.ADDED: "|{}]"}
    return "".join(marks[piece.change].format(piece.text) for piece in row.pieces).replace("||", "|")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "<p>The bridge opens at seven.</p>",
            "<p>The bridge opens at eight.</p>",
            "The bridge opens at [seven|eight].",
        ),
        ("<p>Open <b>all</b> day.</p>", "<p>Open <b>every</b> day.</p>", "Open [all|every] day."),
        (
            "<p>海港大桥将于周一重新开放。</p>",
            "<p>海港大桥将于周二晚重新开放。</p>",
            "海港大桥将于周[一|二晚]重新开放。",
        ),
        ("<p>One<br>two old</p>", "<p>One<br>two new</p>", "One\ntwo [old|new]"),
        ("<ul><li>one</li><li>two old</li></ul>", "<ul><li>one</li><li>two new</li></ul>", "two [old|new]"),
        ("<p>Old.</p>", "<h2>Entirely different words.</h2>", "[Old.|Entirely different words.]"),
    ],
)
def test_words_are_compared_within_their_block(old: str, new: str, expected: str) -> None:
    assert shown(changed(old, new)) == expected


def test_formats_and_links_of_the_same_words_are_no_changed_words() -> None:
    row = changed(
        '<p>See <a href="https://a.example/">the <b>list</b></a>.</p>',
        '<p>See <a href="https://b.example/"><i>the</i> list</a>.</p>',
    )
    assert {piece.change for piece in row.pieces} == {Change.KEPT}
    looks = [(piece.text, piece.was, piece.look) for piece in row.pieces if piece.was]
    assert [(text, was.formats, look.formats, was.link, look.link) for text, was, look in looks if was] == [
        ("the", (), ("italic",), "https://a.example/", "https://b.example/"),
        ("list", ("bold",), (), "https://a.example/", "https://b.example/"),
    ]


def test_what_the_editor_and_the_sanitiser_add_is_no_change() -> None:
    old = '<ul><li>one</li></ul><p><a href="https://a.example/">a</a></p><table><tbody><tr><td>1</td></tr></tbody></table>'
    new = old.replace("<li>one</li>", "<li><p>one</p></li>").replace('/">', '/" rel="noopener noreferrer">')
    new = new.replace("<td>1</td>", '<td colspan="1" rowspan="1"><p>1</p></td>')
    assert [row.change for row in rows(old, new)] == [RowChange.KEPT]


def test_what_only_the_list_says_is_a_change_of_its_items() -> None:
    assert changed("<ol><li>a</li></ol>", '<ol start="3"><li>a</li></ol>').change is RowChange.CHANGED


@pytest.mark.parametrize("rewritten", [MOVED, MOVED.replace("the night", "the long night")])
def test_a_paragraph_that_moved_is_recognised_even_if_it_was_changed(rewritten: str) -> None:
    found = rows(MOVED + OTHERS, OTHERS + rewritten)
    assert [(row.change, row.old, row.new) for row in found] == [
        (RowChange.MOVED_AWAY, 0, 2),
        (RowChange.KEPT, 1, 0),
        (RowChange.MOVED, 0, 2),
    ]


def test_a_table_is_compared_by_cell() -> None:
    table = "<table><tbody><tr><th>City</th><th>Votes</th></tr>{}</tbody></table>"
    old = table.format("<tr><td>Oslo</td><td>3</td></tr><tr><td>Rome</td><td>9</td></tr>")
    new = table.format(
        "<tr><td>Oslo</td><td>5</td></tr><tr><td>Bern</td><td>1</td></tr><tr><td>Rome</td><td>9</td></tr>"
    )
    lines = changed(old, new).table
    assert [line.change for line in lines] == [RowChange.KEPT, RowChange.CHANGED, RowChange.ADDED, RowChange.KEPT]
    assert [[piece.change for piece in cell.pieces] for cell in lines[1].cells] == [["kept"], ["removed", "added"]]


def test_a_new_column_is_added_cell_by_cell() -> None:
    old = "<table><tbody><tr><td>a</td><td>b</td></tr></tbody></table>"
    (line,) = changed(old, old.replace("<td>b", "<td>new</td><td>b")).table
    assert [cell.change for cell in line.cells] == [None, Change.ADDED, None]


def test_an_image_is_removed_and_added_and_its_caption_compared() -> None:
    figure = '<figure><img src="/media/{}/1280.jpg" alt="{}"><figcaption>At {}</figcaption></figure>'
    row = changed(figure.format("a", "Old", "sea today"), figure.format("b", "New", "port today"))
    media = [(piece.change, piece.media.address, piece.media.alt) for piece in row.pieces if piece.media]
    assert media == [("removed", "/media/a/1280.jpg", "Old"), ("added", "/media/b/1280.jpg", "New")]
    assert shown(row).endswith("At [sea|port] today")


def test_both_texts_are_in_a_comparison() -> None:
    random.seed(3)
    words = [f"<p>{' '.join(random.choices('abcdefg', k=4))}</p>" for _number in range(30)]
    for _round in range(20):
        old, new = ("".join(random.sample(words, 12)) for _side in (0, 1))
        found, before, after = rows(old, new), split(old), split(new)
        assert sorted(_places(found, is_new=False)) == [*range(len(before))]
        assert sorted(_places(found, is_new=True)) == [*range(len(after))]


def _places(found: list[Row], *, is_new: bool) -> list[int]:
    """The places of the blocks that are shown of one text."""
    others = (RowChange.REMOVED, RowChange.MOVED_AWAY) if is_new else (RowChange.ADDED, RowChange.MOVED)
    starts = [(row.new if is_new else row.old, row.count) for row in found if row.change not in others]
    return [place for start, count in starts for place in range(start or 0, (start or 0) + count)]


def test_of_very_many_changes_the_rest_is_left_out() -> None:
    found = rows("<p>a</p>" * 3 * MOST_ROWS, "".join(f"<p>{number}</p>" for number in range(3 * MOST_ROWS)))
    assert (len(found), found[-1].change) == (MOST_ROWS + 1, RowChange.OMITTED)


TAGS = [
    *(
        "<p>",
        "</p>",
        "<b>",
        "</b>",
        "<a href='#x'>",
        "</a>",
        "<ul>",
        "<li>",
        "</ul>",
        "<table>",
        "<tr>",
        "<td>",
        "</table>",
    ),
    *("<dd>", "<img src=x>", "<br>", "<hr>", "<script>", "<!--", "-->", "<", "&lt;", "x", "\ufffc", "<blockquote>"),
    *(
        "</blockquote>",
        "<details>",
        "<summary>",
        "<pre>",
        "<h2>",
        "</h2>",
        "<caption>",
        "<svg>",
        "<ins>",
        "<plaintext>",
    ),
]


def test_any_html_is_split_and_joined() -> None:
    random.seed(7)
    for _round in range(150):
        body = "".join(random.choices(TAGS, k=random.randint(1, 12)))
        compare_bodies(split(body), split(join(split(body))))
        html = as_shown(body)
        merged = merge_bodies(html, html, html).body({})
        assert "".join(plain_text(merged).split()) == "".join(plain_text(html).split()), "only empty lists may go"
