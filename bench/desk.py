"""Cost of the newsroom's lists with many articles compared with few: `python -m bench.desk`.

Newsrooms of different sizes on one durable MariaDB are asked in turn for the same pages. Nineteen of twenty articles
are published; each has an audit entry and a task record, and one of twenty a pending task.
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

TABLES = ("articles_article", "articles_auditentry", "articles_notification", "taskinfo", "taskinfo_logs")


def main() -> None:
    """Load, measure in turn, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 100_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repetitions", type=int, default=5, help="calls in each round")
    options = parser.parse_args()
    print(f"{', '.join(map(str, options.sizes))} articles on {machine()}.\n")
    with stand() as servers:
        sizes = {size: database(servers, size) for size in options.sizes}
        costs = measure(servers, sizes, options.rounds, options.repetitions)
        plans = servers.run("bench.desk_pages", "plans", env=sizes[options.sizes[-1]])
    print(report(costs, plans))
    print(f"Saved in {save('desk', {'costs': costs, 'plans': plans}).relative_to(base_dir)}")


def database(servers: Stand, size: int) -> dict[str, str]:
    """A newsroom with so many articles; returns the environment of processes that work on it."""
    name = f"desk_{size}"
    servers.rows(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
    env = {"DATABASE_URL": servers.mariadb.url.rpartition("/")[0] + f"/{name}", "REDIS_URL": "", "REDIS_CACHE_URL": ""}
    servers.call("manage.py", "migrate", "--verbosity", "0", env=env)
    servers.call("manage.py", "shell", "-c", _CAST, env=env)
    connection = connect(env["DATABASE_URL"])
    with connection.cursor() as cursor:
        fill(cursor, size)
    connection.close()
    return env


_CAST = """
from datetime import timedelta
from django.contrib.auth.models import User
from django.utils.timezone import now
from articles.models import Article, AuditEntry, Channel, Notification, Tag, Update
from scheduling.models import TaskInfo, TaskInfoLog
chief = User.objects.create_superuser("chief")
for number in range(9): User.objects.create_user(f"author{number}", is_staff=True)
for name in ("Town", "Sport", "Culture", "Markets"): Channel.objects.create(name=name)
body = "<p>" + "All the news that fits. " * 80 + "</p>"
article = Article.objects.create(title="News", summary="In short", body=body)
AuditEntry.objects.create(at=now(), action="create", source="admin", article_id=article.pk, article_title="News")
Notification.objects.create(user=chief, kind="published", article=article, article_title="News", at=now())
Update.objects.create(article=article, draft=article.revisions.get(), status=3)
task = dict(task_id=1, task_type="article.publish", execute_time=now(), key="1", created_at=now(), promised_at=now())
TaskInfo.objects.create(**task)
TaskInfoLog.objects.create(**task, updated_at=now(), executed_at=now(), lateness=timedelta(0))
"""

_STATUS = "IF(seq % 20, 9, ELT(1 + seq DIV 20 % 10, 0, 0, 0, 2, 3, 4, 8, 8, 10, 11))"


def fill(cursor: Any, size: int) -> None:
    """Write the rows, by one statement for each table."""
    ago = f"UTC_TIMESTAMP(6) - INTERVAL ({size} - seq) * {YEARS // size} SECOND"
    ahead = f"UTC_TIMESTAMP(6) + INTERVAL seq * {YEARS // size} SECOND + INTERVAL 1 HOUR"
    multiply(
        cursor, "articles_article", size - 1,
        title="CONCAT('News ', seq, IF(seq % 1000 = 0, ' seldom', ''), IF(seq % 10 = 0, ' often', ''))",
        status=_STATUS, publish_at=f"IF({_STATUS} IN (4, 8), {ahead}, IF({_STATUS} = 0, NULL, {ago}))",
        published_at=f"IF({_STATUS} = 9, {ago}, NULL)", created_at=ago, updated_at=ago, text_changed_at=ago,
        channel_id="(SELECT MIN(id) FROM articles_channel) + seq % 4",
        author_id="(SELECT MIN(id) FROM auth_user) + seq % 7",
    )  # fmt: skip
    multiply(
        cursor, "articles_auditentry", size - 1, at=ago, article_id="1 + seq",
        action="ELT(1 + seq % 5, 'create', 'edit', 'published', 'submit', 'approve')",
        source="ELT(1 + seq % 3, 'admin', 'worker', 'api')", article_title="CONCAT('News ', seq)",
        user_id="(SELECT MIN(id) FROM auth_user) + seq % 7",
    )  # fmt: skip
    multiply(
        cursor, "articles_notification", size // 10, id="UUID()", at=ago, article_id="1 + seq",
        read_at=f"IF(seq % 10, {ago}, NULL)",
    )  # fmt: skip
    records = {"task_id": "1 + seq", "key": "1 + seq"}
    multiply(
        cursor, "taskinfo_logs", size - 1, primary="task_id", **records,
        status="IF(seq % 20, IF(seq % 19 = 0, 2, 1), IF(seq % 100, 0, 3))", execute_time=ago, updated_at=ago,
        executed_at=ago,
    )  # fmt: skip
    multiply(cursor, "taskinfo", size // 20, primary="task_id", **records, execute_time=ahead)
    cursor.execute(
        "ANALYZE TABLE articles_article, articles_auditentry, articles_notification, taskinfo, taskinfo_logs"
    )


def measure(servers: Stand, sizes: dict[int, dict[str, str]], rounds: int, repetitions: int) -> dict[int, Any]:
    """Medians of each page's cost in milliseconds, by number of articles."""
    samples: dict[int, defaultdict[str, list[float]]] = {size: defaultdict(list) for size in sizes}
    for _ in range(rounds):
        for size, env in sizes.items():
            for name, costs in servers.run("bench.desk_pages", repetitions, env=env).items():
                samples[size][name] += costs
    return {
        size: {name: round(statistics.median(costs), 1) for name, costs in named.items()}
        for size, named in samples.items()
    }


def report(costs: dict[int, Any], plans: list[dict[str, Any]]) -> str:
    """A table of the costs, and the plans that read many rows."""
    sizes = list(costs)
    rows = [
        (name, *(costs[size][name] for size in sizes), f"{costs[sizes[-1]][name] / costs[sizes[0]][name]:.1f}")
        for name in costs[sizes[0]]
    ]
    bad = [plan for plan in plans if plan["bad"]]
    lines = [
        f"BAD: {plan['work']}: {plan['statement']}"
        f" ({plan['table']} {plan['type']} {plan['key']}, {plan['rows']} rows, {plan['extra']})"
        for plan in bad
    ]
    return "\n".join([table(rows, ("median ms", *map(str, sizes), "ratio")), "", *lines, ""])


if __name__ == "__main__":
    main()
