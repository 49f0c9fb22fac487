"""Sending a notification by mail."""

from __future__ import annotations

from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.core.mail import EmailMessage
from django.urls import reverse
from django.utils.translation import gettext as _, override

from articles.models import Notification
from articles.notifications.preferences import speaking_to
from articles.permissions import reads_articles
from articles.text import format_time_exactly
from scheduling.database import read_database_clock


def send_mail(notification_id: UUID | str) -> bool:
    """Send a notification that was not sent yet; True if it was sent now. Raises errors of the mail server.

    A crash between sending and storing that causes a second mail with the same Message-ID, by which mail programs drop
    duplicates.
    """
    notification = (
        Notification.objects.select_related("user", "article")
        .filter(pk=notification_id, mailed_at__isnull=True)
        .first()
    )
    if notification is None or not (notification.user.email and notification.user.is_active):
        return False
    with override(settings.LANGUAGE_CODE), speaking_to(notification.user):
        _message(notification).send()
    return bool(
        Notification.objects.filter(pk=notification.pk, mailed_at__isnull=True).update(mailed_at=read_database_clock())
    )


def _message(notification: Notification) -> EmailMessage:
    kind, title, reason = notification.get_kind_display(), notification.article_title, str(notification.reason)
    if not reads_articles(notification.user):  # the role was lost since the notification was written
        title = reason = ""
    subject = f"{kind}: {title}" if title else kind
    parts = title, _since(notification), reason, _address(notification)
    return EmailMessage(
        " ".join(subject.split()),
        "\n\n".join(part for part in parts if part),
        to=[notification.user.email],
        headers={"Message-ID": f"<{notification.pk}@{urlsplit(settings.SITE_URL).hostname}>"},
    )


def _since(notification: Notification) -> str:
    """From when readers have it."""
    if notification.kind != Notification.Kind.PUBLISHED:
        return ""
    return _("Went live on %(time)s.") % {"time": format_time_exactly(notification.at)}


def _address(notification: Notification) -> str:
    if notification.kind == Notification.Kind.PROPOSED:
        return f"{settings.SITE_URL}{reverse('desk_proposed_changes')}"
    name = "queuedarticle" if notification.kind == Notification.Kind.SUBMITTED else "article"
    name, subject = ("release", notification.release_id) if notification.release_id else (name, notification.article_id)
    if subject is None:
        return _("The article or release has been deleted.")
    place = "#notes" if notification.is_about_note else ""
    return f"{settings.SITE_URL}{reverse(f'admin:articles_{name}_change', args=[subject])}{place}"
