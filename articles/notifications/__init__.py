"""Notifications for newsroom staff, in the admin and by mail."""

from articles.notifications.alerts import notify_of_trouble
from articles.notifications.mail import send_mail
from articles.notifications.notify import (
    Message,
    notify_authors,
    notify_authors_of_due,
    notify_of_entries,
    notify_of_release,
    notify_users,
    remove_orphaned_notifications,
    send,
)
from articles.notifications.preferences import choose_language, speaking_to, zone_named
from articles.notifications.reviewers import notify_reviewers

__all__ = [
    "Message",
    "choose_language",
    "notify_authors",
    "notify_authors_of_due",
    "notify_of_entries",
    "notify_of_release",
    "notify_of_trouble",
    "notify_reviewers",
    "notify_users",
    "remove_orphaned_notifications",
    "send",
    "send_mail",
    "speaking_to",
    "zone_named",
]
