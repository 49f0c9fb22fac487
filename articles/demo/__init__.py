"""The demo newsroom: the newspaper of the fictional city of Lanhai, in English and Chinese."""

from articles.demo.create import ORIGIN, found, going_live, going_out, is_empty, is_password, members, renew_missed

__all__ = [
    "ORIGIN",
    "found",
    "going_live",
    "going_out",
    "is_empty",
    "is_password",
    "members",
    "renew_missed",
]
