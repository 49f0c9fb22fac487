"""Cost of the newsroom's lists with few and very many articles.

Nineteen of twenty articles are published; each has an audit entry and a task record, and one of twenty a pending task.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from bench.measure import Goal
from bench.measures.sizes import Environment, by_size, print_walks
from bench.rows import multiply
from bench.stand import Servers
from tests.harness import connect

FEW, MANY = "1,000 articles", "1,000,000 articles"
YEARS = 10 * 365 * 24 * 3600  # seconds over which the articles spread
REPETITIONS = 5
FIRST_DATABASE = 18

DESCRIPTION = """\
Milliseconds of server time for the newsroom's dashboard, lists and searches, by the number of articles."""


def load(servers: Servers, number: int, size: int) -> Environment:
    """A newsroom with so many articles."""
    env = servers.newsroom(f"desk_{size}", FIRST_DATABASE + number) | {"REDIS_URL": "", "REDIS_CACHE_URL": ""}
    servers.call("manage.py", "shell", "-c", _CAST, env=env)
    connection = connect(env["DATABASE_URL"])
    with connection.cursor() as cursor:
        fill(cursor, size)
    connection.close()
    print_walks(servers.run("bench.desk_pages", "plans", env=env))
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


def run(servers: Servers, env: Environment, _size: int) -> Mapping[str, Sequence[float]]:
    """Milliseconds of each page."""
    costs: Mapping[str, Sequence[float]] = servers.run("bench.desk_pages", REPETITIONS, env=env)
    return costs


DESK = by_size(
    "desk",
    "The newsroom's lists with a million articles",
    DESCRIPTION,
    sizes={FEW: 1_000, MANY: 1_000_000},
    load=load,
    run=run,
    goals=[Goal("dashboard", MANY, operator.le, 2, FEW)],
    least=1_000,  # some pages are further on
    is_large=True,
)
