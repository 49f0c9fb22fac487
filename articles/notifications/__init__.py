"""Notifications for newsroom staff: what, to whom, in the desk and by mail."""

from articles.notifications.alerts import tell_of_trouble
from articles.notifications.mail import send_mail
from articles.notifications.notify import remove_notices_of_nobody, tell_authors, tell_of, tell_of_release
from articles.notifications.preferences import choose_language, speaking_to

__all__ = [
    "choose_language",
    "send_mail",
    "remove_notices_of_nobody",
    "speaking_to",
    "tell_authors",
    "tell_of",
    "tell_of_release",
    "tell_of_trouble",
]
