"""What a program needs of its database server: its clock, row locks, retried transactions, statements for many rows.

Imports Django alone and knows nothing of tasks.
"""

from scheduling.database.bulk import NewId as NewId
from scheduling.database.bulk import copy_rows as copy_rows
from scheduling.database.bulk import delete_by_ids as delete_by_ids
from scheduling.database.bulk import insert_for_each as insert_for_each
from scheduling.database.bulk import insert_rows as insert_rows
from scheduling.database.bulk import insert_statement as insert_statement
from scheduling.database.bulk import update_by_ids as update_by_ids
from scheduling.database.compiled import GIVEN_TIME as GIVEN_TIME
from scheduling.database.compiled import Statement as Statement
from scheduling.database.compiled import compiled_for as compiled_for
from scheduling.database.compiled import compiled_once as compiled_once
from scheduling.database.compiled import pipelined as pipelined
from scheduling.database.compiled import update_statement as update_statement
from scheduling.database.compiled import write_for as write_for
from scheduling.database.consistent_read import snapshot as snapshot
from scheduling.database.counting import COUNT_LIMIT as COUNT_LIMIT
from scheduling.database.counting import CappedPaginator as CappedPaginator
from scheduling.database.counting import count_up_to as count_up_to
from scheduling.database.instances import instance_of_row as instance_of_row
from scheduling.database.limited_union import in_any as in_any
from scheduling.database.locks import IdList as IdList
from scheduling.database.locks import among as among
from scheduling.database.locks import lock_by_ids as lock_by_ids
from scheduling.database.server_clock import EpochMicroseconds as EpochMicroseconds
from scheduling.database.server_clock import clock as clock
from scheduling.database.server_clock import database_clock_set as database_clock_set
from scheduling.database.server_clock import database_now as database_now
from scheduling.database.server_clock import is_read_only as is_read_only
from scheduling.database.server_clock import read_database_clock as read_database_clock
from scheduling.database.times import EARLIEST as EARLIEST
from scheduling.database.times import LATEST as LATEST
from scheduling.database.transactions import Collision as Collision
from scheduling.database.transactions import duplicates_collide as duplicates_collide
from scheduling.database.transactions import log_failure as log_failure
from scheduling.database.transactions import retried as retried
from scheduling.database.transactions import savepoint as savepoint
from scheduling.database.trouble import Trouble as Trouble
from scheduling.database.trouble import causes as causes
from scheduling.database.trouble import is_duplicate as is_duplicate
from scheduling.database.trouble import trouble_of as trouble_of
