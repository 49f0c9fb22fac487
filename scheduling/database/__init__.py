"""What a program needs of its database server: its clock, row locks, retried transactions, statements for many rows.

Imports Django alone and knows nothing of tasks.
"""

from scheduling.database.bulk import (
    NewId as NewId,
    copy_rows as copy_rows,
    delete_by_ids as delete_by_ids,
    insert_for_each as insert_for_each,
    insert_rows as insert_rows,
    insert_statement as insert_statement,
    unless_there as unless_there,
    update_by_ids as update_by_ids,
)
from scheduling.database.compiled import (
    GIVEN_TIME as GIVEN_TIME,
    Statement as Statement,
    compiled_for as compiled_for,
    compiled_once as compiled_once,
    first_rows as first_rows,
    pipelined as pipelined,
    update_statement as update_statement,
    write_for as write_for,
)
from scheduling.database.consistent_read import snapshot as snapshot
from scheduling.database.counting import (
    COUNT_LIMIT as COUNT_LIMIT,
    CappedPaginator as CappedPaginator,
    count_up_to as count_up_to,
)
from scheduling.database.instances import instance_of_row as instance_of_row
from scheduling.database.limited_union import in_any as in_any
from scheduling.database.locks import IdList as IdList, among as among, lock_by_ids as lock_by_ids
from scheduling.database.overlay import Overlay as Overlay, as_stored as as_stored, overlaid as overlaid
from scheduling.database.server_clock import (
    EpochMicroseconds as EpochMicroseconds,
    at_instant as at_instant,
    clock as clock,
    database_clock_set as database_clock_set,
    database_now as database_now,
    is_at_instant as is_at_instant,
    is_read_only as is_read_only,
    present as present,
    read_database_clock as read_database_clock,
)
from scheduling.database.storable_times import (
    EARLIEST as EARLIEST,
    LATEST as LATEST,
    NoTimeZone as NoTimeZone,
    OutOfRange as OutOfRange,
    storable as storable,
)
from scheduling.database.transactions import (
    Collision as Collision,
    duplicates_collide as duplicates_collide,
    ends_before as ends_before,
    log_failure as log_failure,
    retried as retried,
    savepoint as savepoint,
)
from scheduling.database.trouble import (
    Trouble as Trouble,
    causes as causes,
    is_duplicate as is_duplicate,
    trouble_of as trouble_of,
)
