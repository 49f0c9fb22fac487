"""Child process: creates the users of a proof, and a webhook, and prints the users' API tokens as JSON."""

from __future__ import annotations

import json
import sys
from datetime import timedelta

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402 (models need a Django that is set up)

from articles.models import Channel, Endpoint, NotificationPreference  # noqa: E402
from articles.roles import Role  # noqa: E402
from articles.webhooks.signing import new_secret  # noqa: E402
from headline.api.models import ApiToken  # noqa: E402
from scheduling.database import read_database_clock  # noqa: E402
from tests.articles.factories import make_editor, make_member  # noqa: E402


def main() -> None:
    """`cast [WEBHOOK]`.

    Two authors, one with notifications by mail, an editor who writes updates, and one who does everything else.
    """
    Channel.objects.create(name="Politics", slug="politics")
    users = {
        "author": make_member(Role.AUTHOR, "author"),
        "subscriber": make_member(Role.AUTHOR, "subscriber"),
        "chief": make_editor("chief"),
        "editor": make_editor("editor"),
    }
    User.objects.filter(username="subscriber").update(email="subscriber@example.org")
    NotificationPreference.objects.create(user=users["subscriber"], mail=["approved", "published"])
    if len(sys.argv) > 1:
        Endpoint.objects.create(url=sys.argv[1], secret=new_secret(), is_full=True)
    later = read_database_clock() + timedelta(days=1)
    tokens = {name: ApiToken.objects.issue(user, name=name, expires_at=later)[1] for name, user in users.items()}
    print(json.dumps(tokens))  # noqa: T201


if __name__ == "__main__":
    main()
