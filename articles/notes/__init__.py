"""Notes: threads of the newsroom about an article, with mentions; readers never see them."""

from articles.notes.mentions import (
    Part as Part,
    Users as Users,
    all_usernames as all_usernames,
    mentioned_users as mentioned_users,
    parts_of as parts_of,
)
from articles.notes.threads import (
    add_note as add_note,
    delete_note as delete_note,
    edit_note as edit_note,
    find_note as find_note,
    may_delete as may_delete,
    reopen_note as reopen_note,
    reply as reply,
    resolve_note as resolve_note,
    threads_of as threads_of,
)
