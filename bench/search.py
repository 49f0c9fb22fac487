"""Cost of search among many articles compared with few: `python -m bench.search`.

Two databases on one durable MariaDB are asked in turn for the same pages of search, feeds, sitemaps and lists. Texts
are random words, some of which stand in so many articles whatever the size, others in a part of all.
"""

from __future__ import annotations

import argparse
import statistics
from collections import defaultdict
from typing import Any

from bench.figures import table
from bench.rows import multiply
from bench.stand import machine, save, stand
from tests.harness import Stand, base_dir, connect

YEARS = 10 * 365 * 24 * 3600  # seconds over which the articles spread
WORDS = 40  # of one text, drawn from 20,000 with the common ones far more often


def main() -> None:
    """Load, measure in turn, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--few", type=int, default=10_000)
    parser.add_argument("--many", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repetitions", type=int, default=10, help="calls in each round")
    options = parser.parse_args()
    print(f"{options.few} and {options.many} articles on {machine()}.\n")
    with stand() as servers:
        sizes = {size: database(servers, size) for size in (options.few, options.many)}
        costs = measure(servers, sizes, options.rounds, options.repetitions)
        plans = servers.run("bench.search_costs", "plans", env=sizes[options.many])
    print(report(costs, plans, options.few, options.many))
    print(f"Saved in {save('search', {'costs': costs, 'plans': plans}).relative_to(base_dir)}")


def database(servers: Stand, size: int) -> dict[str, str]:
    """A database with so many live articles; returns the environment of processes that work on it."""
    name = f"search_{size}"
    servers.rows(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
    env = {"DATABASE_URL": servers.mariadb.url.rpartition("/")[0] + f"/{name}", "REDIS_URL": "", "REDIS_CACHE_URL": ""}
    servers.call("manage.py", "migrate", "--verbosity", "0", env=env)
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


def measure(servers: Stand, sizes: dict[int, dict[str, str]], rounds: int, repetitions: int) -> dict[int, Any]:
    """Medians of each cost in milliseconds, by number of articles."""
    samples: dict[int, defaultdict[str, list[float]]] = {size: defaultdict(list) for size in sizes}
    for _ in range(rounds):
        for size, env in sizes.items():
            for name, costs in servers.run("bench.search_costs", repetitions, env=env).items():
                samples[size][name] += costs
    return {
        size: {name: round(statistics.median(costs), 2) for name, costs in named.items()}
        for size, named in samples.items()
    }


def report(costs: dict[int, Any], plans: list[dict[str, Any]], few: int, many: int) -> str:
    """Tables of the costs, and of plans that read many rows."""
    compared = [
        (name, costs[few][name], costs[many][name], f"{costs[many][name] / costs[few][name]:.1f}")
        for name in costs[few]
    ]
    bad = [plan for plan in plans if plan["bad"]]
    lines = [
        f"BAD: {plan['work']}: {plan['statement']} ({plan['type']}, {plan['rows']} rows, {plan['extra']})"
        for plan in bad
    ]
    return "\n".join([table(compared, ("median ms", str(few), str(many), "ratio")), "", *lines, ""])


if __name__ == "__main__":
    main()
