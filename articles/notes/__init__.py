"""Notes: threads of the newsroom about an article, with mentions; readers never see them."""

from articles.notes.mentions import Part, mentioned_users, parts_of
from articles.notes.threads import (
    add_note,
    delete_note,
    edit_note,
    find_note,
    may_delete,
    reopen_note,
    reply,
    resolve_note,
    threads_of,
)

__all__ = [
    "Part",
    "add_note",
    "delete_note",
    "edit_note",
    "find_note",
    "may_delete",
    "mentioned_users",
    "parts_of",
    "reopen_note",
    "reply",
    "resolve_note",
    "threads_of",
]
