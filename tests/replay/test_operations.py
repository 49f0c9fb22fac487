"""docs/operations.md, replayed: installed, an article goes live, upgraded, backed up, restored elsewhere.

What the document leaves to its reader is in `_as_reader`; servers of others (the certificate authority, the repository)
have stand-ins. As root; packages are downloaded.
"""

from __future__ import annotations

import json
import re
import secrets
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.harness import base_dir, eventually
from tests.replay.conftest import RootWith, git
from tests.replay.machine import Machine

pytestmark = pytest.mark.replay

DOCUMENT = (base_dir / "docs" / "operations.md").read_text(encoding="utf-8")
PACKAGES = ("ca-certificates", "curl", "iproute2")
"""What Debian's installer leaves there, besides the minimum."""
REPOSITORY = "/srv/headline.git"
BACKUPS = "/srv/backups"
CERTIFICATES = "/etc/letsencrypt/live/news.example.org"

MISSING = {"mail", "redis"}
"""What `doctor` finds: the mail server of the document does not exist, and queue and cache share one Redis."""

CERTBOT = f"""\
#!/bin/sh
mkdir -p {CERTIFICATES} && exec openssl req -x509 -newkey ed25519 -nodes -days 2 -subj /CN=news.example.org \\
    -keyout {CERTIFICATES}/privkey.pem -out {CERTIFICATES}/fullchain.pem
"""

LATER = """
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("articles", "{last}")]
    operations = [migrations.AddField("Tag", "later", models.CharField(max_length=9, db_default=""))]
"""


@dataclass(frozen=True)
class Block:
    """A block of the document, with the text before it."""

    before: str
    language: str
    text: str

    @property
    def file(self) -> str:
        """The file whose content it is; empty for commands."""
        found = re.findall(r"in\s+`(/[^`]+)`", self.before)
        return str(found[-1]) if self.language == "ini" else ""

    def commands(self) -> Iterator[str]:
        """Its commands, each in as many lines as it has."""
        pending = ""
        for line in self.text.splitlines(keepends=True):
            pending += line
            if not line.endswith("\\\n") and _is_complete(pending):
                yield _as_reader(pending)
                pending = ""
        assert not pending


def _is_complete(command: str) -> bool:
    return subprocess.run(["bash", "-n", "-c", command], capture_output=True, check=False).returncode == 0


def _as_reader(text: str) -> str:
    """The text with what its reader enters."""
    user = "--noinput --username chief --email chief@example.org"
    text = text.replace("=…", f"={secrets.token_urlsafe(48)}")
    text = text.replace("createsuperuser", f"createsuperuser {user}")
    return re.sub(r"/srv/backups/headline-[\dTZ-]+\.zip", f"$(ls {BACKUPS}/*.zip | tail -1)", text)


def blocks(heading: str) -> list[Block]:
    """The blocks of a section."""
    (section,) = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", DOCUMENT, re.MULTILINE | re.DOTALL)
    parts = re.split(r"^```(\w+)\n(.*?)^```\n", section, flags=re.MULTILINE | re.DOTALL)
    return [Block(*parts[start : start + 3]) for start in range(0, len(parts) - 3, 3)]


def follow(machine: Machine, steps: list[Block]) -> None:
    """Do what the blocks say; all commands succeed but `doctor`, which names what the replay lacks."""
    for block in steps:
        if block.file:
            machine.write(block.file, _as_reader(block.text))
            continue
        for command in block.commands():
            if command.startswith("manage doctor"):
                assert findings(machine) == MISSING, machine.run(command)[1]
            else:
                machine.check(command)


def findings(machine: Machine) -> set[str]:
    """The areas in which `doctor` finds something, once the workers have started."""
    for _attempt in range(30):
        report = json.loads(machine.run("manage doctor --json")[1])
        found = {finding["area"] for finding in report["findings"] if finding["level"] != "ok"} - {"disk"}
        if "workers" not in found:
            break
    return found


def release_later_version(source: Path) -> None:
    """Commit and tag it."""
    migrations = source / "articles" / "migrations"
    last = max(file.stem for file in migrations.glob("[0-9]*.py"))
    (migrations / f"{int(last[:4]) + 1:04}_later.py").write_text(LATER.format(last=last))
    page = source / "templates" / "base.html"
    page.write_text(page.read_text().replace("</body>", "<!-- the later version --></body>"))
    git(source, "add", "--all")
    author = ["-c", "user.name=Later", "-c", "user.email=later@example.org"]
    git(source, *author, "commit", "--quiet", "-m", "Later version")
    git(source, "tag", "v0.2.0")


def prepare(machine: Machine) -> None:
    """Stand-ins for systemd, the certificate authority and the address of the repository."""
    stand_in = Path(__file__).with_name("systemctl.py").read_text(encoding="utf-8")
    machine.write("/usr/local/bin/systemctl", stand_in, mode=0o755)
    machine.write("/usr/local/bin/certbot", CERTBOT, mode=0o755)
    machine.write("/root/.gitconfig", f'[url "{REPOSITORY}"]\n\tinsteadOf = https://example.org/headline.git\n')


def copy_repository(machine: Machine, source: Path) -> None:
    """Where the stand-in of its address points."""
    machine.check(f"rm -rf {REPOSITORY}")
    machine.copy(source, REPOSITORY)


class Newsroom:
    """The installed Headline, as readers and `manage shell` see it."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def python(self, code: str) -> str:
        """What the code prints."""
        self._machine.write("/tmp/code.py", code)
        return self._machine.check("manage shell --verbosity 0 < /tmp/code.py 2>&1 | tail -1").strip()

    def schedule(self, title: str, seconds: int) -> str:
        """The number of a new approved article that is due then."""
        return self.python(f"""
from datetime import timedelta
from articles.models import Article, Channel
from scheduling.database import read_database_clock
channel, _ = Channel.objects.get_or_create(name="News", slug="news")
due = read_database_clock() + timedelta(seconds={seconds})
print(Article.objects.create(title="{title}", channel=channel, status=Article.Status.APPROVED, publish_at=due).pk)
""")

    def page(self, path: str = "/feed/") -> str:
        """The page, through nginx and TLS; empty if there is none."""
        return self._machine.run(
            "curl --silent --fail --insecure --location --max-time 20 --resolve news.example.org:443:127.0.0.1"
            f" https://news.example.org{path}"
        )[1]

    def tasks_of(self, number: str) -> str:
        """The statuses of the tasks that publish the article."""
        return self.python(f"""
from scheduling.models import TaskInfoLog
logs = TaskInfoLog.objects.filter(task_type="articles.publish", key="{number}")
print([TaskInfoLog.Status(log.status).name for log in logs])
""")

    def wait_for_worker(self, number: str) -> None:
        """Wait until a worker has published the article, which happens once."""
        try:
            eventually(lambda: self.tasks_of(number) == "['EXECUTED']")
        except AssertionError:
            raise AssertionError(self.tasks_of(number), self._machine.check("cat /var/log/headline-*.log")) from None


def test_the_document(source: Path, disk: Path, root_with: RootWith) -> None:
    root = root_with(*PACKAGES)
    install, *rest = blocks("Install on Debian 12")
    with Machine(root, disk, online=True) as machine:
        prepare(machine)
        copy_repository(machine, source)
        follow(machine, [install])
    with Machine(root, disk, online=False) as machine:
        machine.check("cd /opt/headline; export DJANGO_SUPERUSER_PASSWORD=correct-horse-battery-staple")
        machine.check("for name in mariadb redis-server nginx; do service $name start; done")  # as their packages do
        follow(machine, [*rest, *blocks("Doctor"), *blocks("Backup")])
        newsroom = Newsroom(machine)
        first, second = newsroom.schedule("Ferry runs again", 3), newsroom.schedule("Bridge opens", 3600)
        eventually(lambda: "Ferry runs again" in newsroom.page())
        newsroom.wait_for_worker(first)
        assert "Bridge opens" not in newsroom.page()

        release_later_version(source)
        copy_repository(machine, source)
        during = newsroom.schedule("Published during the upgrade", 4)
        follow(machine, blocks("Upgrade"))
        eventually(lambda: "the later version" in newsroom.page("/"), message="the web server serves the old version")
        newsroom.wait_for_worker(during)
        machine.check("systemctl start headline-backup.service")
        follow(machine, blocks("Backup"))

        erase(machine)
        follow(machine, [*rest[:4], *blocks("Restore")])
        for title in ("Ferry runs again", "Published during the upgrade"):
            assert title in newsroom.page()
        assert newsroom.tasks_of(second) == "['SCHEDULED']"
        third = newsroom.schedule("Live after the restore", 3)
        newsroom.wait_for_worker(third)
        assert "Live after the restore" in newsroom.page()
        assert newsroom.tasks_of(first) == "['EXECUTED']"


def erase(machine: Machine) -> None:
    """A server on which only the programs are installed, and the backup."""
    machine.check("systemctl stop headline-web headline-worker@1 headline-worker@2")
    machine.check("mariadb -e 'DROP DATABASE headline; DROP USER headline@localhost'; redis-cli flushall")
    machine.check("rm -rf /var/lib/headline/* /etc/headline.env /var/lib/headline-backups")
