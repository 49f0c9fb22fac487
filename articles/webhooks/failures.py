"""What failed attempts lead to: a pause before the next one, a mail to the owner, the end of sending."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.mail import send_mail
from django.utils.translation import gettext, override

from articles.models import Endpoint
from articles.webhooks.send import Reply

_SECONDS, _MINUTES, _HOURS = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
PAUSES = (
    *(5 * _SECONDS, 5 * _MINUTES, 30 * _MINUTES),
    *(hours * _HOURS for hours in (2, 5, 10, 14, 20, 24)),
)
"""After each failed attempt, as in Standard Webhooks; three days in all."""
_JITTER = 0.2
_LONGEST_WAIT = 24 * _HOURS  # that a receiver may ask for
LONGEST_PAUSE = (1 + _JITTER) * PAUSES[-1]

MAIL_AFTER, DISABLE_AFTER = timedelta(days=1), timedelta(days=5)
"""How long an endpoint fails before its owner gets a mail, and before it is disabled."""
_APART = 12 * _HOURS  # between two failures that count as lasting


@dataclass
class EndpointChange:
    """What becomes of an endpoint after some answers."""

    values: dict[str, Any] = field(default_factory=dict)
    is_back: bool = False  #: its receiver, after a time of failures
    mail: str = ""  #: why its owner gets one


def pause(attempts: int, answer: Reply) -> timedelta:
    """After so many attempts, the last of which got this answer."""
    usual = PAUSES[attempts - 1] * (1 + random.uniform(0, _JITTER))  # noqa: S311 (spreads retries, not security)
    return max(usual, _asked(answer))


def asks_for_pause(answer: Reply) -> bool:
    """Whether nothing more is to be sent now: the receiver is gone, or overloaded and says for how long."""
    return answer.code == 410 or bool(_asked(answer))


def _asked(answer: Reply) -> timedelta:
    """How long a receiver that is overloaded asks to wait."""
    if answer.code not in (429, 503) or answer.retry_after is None:
        return timedelta(0)
    return min(timedelta(seconds=answer.retry_after), _LONGEST_WAIT)


def health(endpoint: Endpoint, answers: Sequence[Reply], now: datetime) -> EndpointChange:
    """What becomes of an endpoint after these answers, in their order."""
    outcome = EndpointChange()
    if any(answer.code == 410 for answer in answers):
        return EndpointChange({"enabled": False, "paused_because": "gone"}, mail="gone")
    if not answers:
        return outcome
    if wait := max(map(_asked, answers)):
        outcome.values["resumes_at"] = now + wait
    if any(answer.is_success for answer in answers):
        if endpoint.failing_since:
            outcome.values |= {"failing_since": None, "failed_at": None, "is_owner_mailed": False}
            outcome.is_back = True
        return outcome
    since, last = endpoint.failing_since or now, endpoint.failed_at or now
    outcome.values |= {"failing_since": since, "failed_at": now}
    if now - since >= DISABLE_AFTER and last - since >= _APART:
        outcome.values |= {"enabled": False, "paused_because": "failing"}
        outcome.mail = "disabled"
    elif now - since >= MAIL_AFTER and not endpoint.is_owner_mailed:
        outcome.values["is_owner_mailed"] = True
        outcome.mail = "failing"
    return outcome


def mail_owner(endpoint_id: int, why: str) -> None:
    """Mail the owner: when it has failed for a day, and when it is disabled. Raises errors of the mail server."""
    endpoint = Endpoint.objects.select_related("owner").filter(pk=endpoint_id, owner__is_active=True).first()
    if endpoint is None or endpoint.owner is None or not endpoint.owner.email:
        return
    address = f"{settings.SITE_URL}/admin/articles/endpoint/{endpoint.pk}/change/"
    with override(settings.LANGUAGE_CODE):
        subjects = {
            "failing": gettext("A webhook has failed for a day"),
            "disabled": gettext("A webhook was paused, because it has failed for five days"),
            "gone": gettext("A webhook was paused, because its receiver is gone (410)"),
        }
        send_mail(subjects[why], f"{endpoint}\n{address}\n", None, [endpoint.owner.email])
