"""Sending a notice by mail."""

from __future__ import annotations

from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.core.mail import EmailMessage
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import override

from articles.models import Notice
from articles.notifications.preferences import speaking_to
from scheduling.services import read_database_clock


def send_mail(notice_id: UUID | str) -> bool:
    """Send a notice unless that was done; True if it was sent now. Raises what the mail server answers.

    Who dies between sending and noting it sends twice: both mails have the same Message-ID, by which mail programs
    know that they are one.
    """
    notice = Notice.objects.select_related("person", "article").filter(pk=notice_id, mailed_at__isnull=True).first()
    if notice is None or not notice.person.email:
        return False
    with override(settings.LANGUAGE_CODE), speaking_to(notice.person):
        _message(notice).send()
    return bool(Notice.objects.filter(pk=notice.pk, mailed_at__isnull=True).update(mailed_at=read_database_clock()))


def _message(notice: Notice) -> EmailMessage:
    subject = f"{notice.get_kind_display()}: {notice.article_title}"
    return EmailMessage(
        " ".join(subject.split()),
        "\n\n".join(part for part in (notice.article_title, notice.reason, _address(notice)) if part),
        to=[notice.person.email],
        headers={"Message-ID": f"<{notice.pk}@{urlsplit(settings.SITE_URL).hostname}>"},
    )


def _address(notice: Notice) -> str:
    name, subject = ("release", notice.release_id) if notice.release_id else ("article", notice.article_id)
    if subject is None:
        return _("What it was about has been deleted.")
    return f"{settings.SITE_URL}{reverse(f'admin:articles_{name}_change', args=[subject])}"
