"""One editor of several at work on the same draft: `python -m tests.articles.fronts.many_edits USER VERSION COUNT`.

Adds, edits, moves and removes cards of its own, each for the edit of the draft that it saw last. Writes the cards that
are left, as JSON.
"""

from __future__ import annotations

import json
import random
import sys
from typing import Any
from uuid import UUID, uuid4

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402 (models need a Django that is set up)

from articles import fronts  # noqa: E402
from articles.models import FrontVersion  # noqa: E402


def work(name: str, pk: int, count: int) -> dict[str, str]:
    """The uuid and headline of each card that is left, after so many operations."""
    by, version, chance = User.objects.get(username=name), FrontVersion.objects.get(pk=pk), random.Random(name)  # noqa: S311
    block = version.blocks.get().uuid
    own: dict[UUID, str] = {}

    def send(op: str, uuid: UUID, **more: Any) -> None:
        operation = fronts.Operation(op=op, uuid=uuid, **more)
        fronts.edit_draft(version, [operation], base=version.edits, by=by)

    for number in range(count):
        action = chance.choice(("add", "edit", "move", "remove")) if len(own) in range(3, 30) else "add"
        action = "remove" if len(own) >= 30 else action
        uuid = uuid4() if action == "add" else chance.choice(list(own))
        if action == "add":
            own[uuid] = f"{name} {number}"
            values = {"url": "https://example.org", "headline": own[uuid]}
            send("add_card", uuid, block=block, values=values)
        elif action == "edit":
            own[uuid] = f"{name} {number}"
            send("edit_card", uuid, values={"headline": own[uuid]})
        elif action == "move":
            send("move_card", uuid, block=block, after=chance.choice([None, *own]))
        else:
            del own[uuid]
            send("remove_card", uuid)
    return {str(uuid): headline for uuid, headline in own.items()}


if __name__ == "__main__":
    print(json.dumps(work(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))), flush=True)  # noqa: T201 (its result)
