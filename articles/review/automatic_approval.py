"""Automatic approval: the review policy says whether the automatic review may approve."""

from __future__ import annotations

from articles.audit import Action, Actor, record_beside
from articles.exceptions import WrongState
from articles.models import ReviewPolicy
from articles.permissions import require
from scheduling.database import lock_by_ids, retried

PERMISSION = "articles.change_reviewpolicy"


def lock_policy() -> ReviewPolicy:
    """The stored policy, locked: one change of it, or of the stages, after another."""
    ReviewPolicy.objects.get_or_create(pk=ReviewPolicy.ROW)
    return lock_by_ids(ReviewPolicy, [ReviewPolicy.ROW]).get()


@retried
def choose_policy(machine: str, *, by: Actor) -> None:
    """Change the policy. Raises `NotAllowed`, and `WrongState` for an invalid choice."""
    require(PERMISSION, by)
    if machine not in ReviewPolicy.Machine.values:
        raise WrongState
    policy = lock_policy()
    before, policy.machine = policy.machine, machine
    if before != machine:
        policy.save()
        record_beside(Action.CHANGE_REVIEW_POLICY, title="", by=by, machine=[before, machine])
