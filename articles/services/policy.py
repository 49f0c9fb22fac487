"""The newsroom's choice whether the automatic review may approve."""

from __future__ import annotations

from django.db import transaction

from articles.exceptions import WrongState
from articles.models import ReviewPolicy
from articles.services.recording import Person, record_beside
from articles.services.rights import require

CHANGE_POLICY = "change_review_policy"
"""What the audit log calls it."""

PERMISSION = "articles.change_reviewpolicy"


def choose_policy(machine: str, *, by: Person) -> None:
    """Say who approves from now on. Raises `NotAllowed`, and `WrongState` for what is no choice."""
    require(PERMISSION, by)
    if machine not in ReviewPolicy.Machine.values:
        raise WrongState
    with transaction.atomic():
        policy, _is_new = ReviewPolicy.objects.select_for_update().get_or_create(pk=ReviewPolicy.ROW)
        before, policy.machine = policy.machine, machine
        if before != machine:
            policy.save()
            record_beside(CHANGE_POLICY, title="", by=by, machine=[before, machine])
