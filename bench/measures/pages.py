"""Cost of readers' pages without the cache, with few and very many live articles."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence

from bench.measure import Goal
from bench.measures.sizes import Environment, by_size, print_walks
from bench.rows import multiply
from bench.stand import Servers
from tests.harness import connect

FEW, MANY = "10,000 articles", "1,000,000 articles"
REPETITIONS = 3
FIRST_DATABASE = 14

DESCRIPTION = """\
Milliseconds of server time for readers' pages, lists and searches on a cache miss, by the number of live articles."""

YEARS = 10 * 365 * 24 * 3600  # seconds over which the articles spread
WORDS = 40  # of one text, drawn from 20,000 with the common ones far more often


def load(servers: Servers, number: int, size: int) -> Environment:
    """A newsroom with so many live articles."""
    env = servers.newsroom(f"pages_{size}", FIRST_DATABASE + number) | {"REDIS_URL": "", "REDIS_CACHE_URL": ""}
    servers.call("manage.py", "shell", "-c", _CAST, env=env)
    connection = connect(env["DATABASE_URL"])
    with connection.cursor() as cursor:
        ago = f"UTC_TIMESTAMP(6) - INTERVAL ({size} - seq) * {YEARS // size} SECOND"
        multiply(
            cursor,
            "articles_article",
            size - 1,
            title="CONCAT('News ', seq)",
            publish_at=ago,
            updated_at=ago,
            text_changed_at=ago,
            unpublish_at="IF(seq % 10 = 0, UTC_TIMESTAMP(6) + INTERVAL 1 DAY + INTERVAL seq SECOND, NULL)",
            channel_id="(SELECT MIN(id) FROM articles_channel) + seq % 4",
            author_id="IF(seq % 50 = 0, (SELECT MIN(id) FROM auth_user), NULL)",
        )
        for statement in _ROWS:
            cursor.execute(statement.format(size=size, words=_words()))
    connection.close()
    print_walks(servers.run("bench.search_costs", "plans", env=env))
    return env


_CAST = """
from django.contrib.auth.models import User
from django.utils.timezone import now
from articles.models import Article, Channel, Tag
User.objects.create_user("author", first_name="Ada")
for name in ("Town", "Sport", "Culture", "Markets"): Channel.objects.create(name=name)
for name in ("often", "seldom"): Tag.objects.create(name=name)
body = "<p>" + "All the news that fits. " * 80 + "</p>"
Article.objects.create(title="News", summary="In short", body=body, status=9, publish_at=now(), published_at=now())
"""


def _in_one_of(parts: int, term: str) -> str:
    """SQL for a term that stands in so many articles, irregularly."""
    return f"IF(CRC32(CONCAT(seq, '{term}')) % {parts} = 0, ' {term}', '')"


_HEADING = f"CONCAT('qnew q', seq, {_in_one_of(1000, 'qcommon')})"
_COMMON = ", ".join(_in_one_of(parts, term) for parts, term in ((100, "qcommon"), (10, "qfrequent"), (5, "qusual")))
_RARE = "IF(seq % ({size} DIV 20) = 0, ' qrare qseldom x0gev0fjg x0fjg0hlz x0hlz0i1y x0i1y', '')"
_ROWS = [
    "INSERT INTO articles_article_tags (article_id, tag_id) SELECT id,"
    " (SELECT id FROM articles_tag WHERE slug = 'often') FROM articles_article WHERE id % 10 = 0",
    "INSERT INTO articles_article_tags (article_id, tag_id) SELECT id,"
    " (SELECT id FROM articles_tag WHERE slug = 'seldom') FROM articles_article WHERE id % ({size} DIV 20) = 0",
    # Indexing all at once is quicker, but MariaDB 10.11 indexes nothing in a table that lost such indexes before.
    "CREATE TABLE entries AS SELECT * FROM articles_searchentry WHERE FALSE",
    "DROP TABLE articles_searchentry",
    "RENAME TABLE entries TO articles_searchentry",
    "ALTER TABLE articles_searchentry ADD PRIMARY KEY (article_id)",
    f"INSERT INTO articles_searchentry (article_id, heading, whole, digest, seen) SELECT seq, {_HEADING},"
    f" CONCAT({_HEADING}, {{words}}, {_COMMON}, {_RARE}), '', UTC_TIMESTAMP(6) FROM seq_1_to_{{size}}",
    "ALTER TABLE articles_searchentry ADD FULLTEXT search_heading (heading)",
    "ALTER TABLE articles_searchentry ADD FULLTEXT search_whole (whole)",
    "ANALYZE TABLE articles_article, articles_article_tags, articles_searchentry",
]


def _words() -> str:
    """SQL for random terms; the cube makes low numbers frequent, as in any language."""
    return ", ".join(f"' qw', FLOOR(POW(RAND(seq * {number}), 3) * 20000)" for number in range(1, WORDS + 1))


def run(servers: Servers, env: Environment, _size: int) -> Mapping[str, Sequence[float]]:
    """Milliseconds of each page."""
    costs: Mapping[str, Sequence[float]] = servers.run("bench.search_costs", REPETITIONS, env=env)
    return costs


PAGES = by_size(
    "pages",
    "Readers' pages with a million articles",
    DESCRIPTION,
    sizes={FEW: 10_000, MANY: 1_000_000},
    load=load,
    run=run,
    goals=[Goal(page, MANY, operator.le, 2, FEW) for page in ("front page", "article", "page of a channel, far on")],
    is_large=True,
)
