"""Notifications for newsroom staff, in the admin and by mail."""

from articles.notifications.alerts import notify_of_trouble as notify_of_trouble
from articles.notifications.mail import send_mail as send_mail
from articles.notifications.notify import (
    Message as Message,
    notify_authors as notify_authors,
    notify_authors_of_due as notify_authors_of_due,
    notify_of_entries as notify_of_entries,
    notify_of_release as notify_of_release,
    notify_users as notify_users,
    remove_orphaned_notifications as remove_orphaned_notifications,
    send as send,
)
from articles.notifications.preferences import (
    choose_language as choose_language,
    speaking_to as speaking_to,
    zone_named as zone_named,
)
from articles.notifications.reviewers import notify_reviewers as notify_reviewers
