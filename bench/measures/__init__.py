"""The measures. To add one, write a module here and add a line below."""

from bench.measures.burst import BURST, LARGE_BURST
from bench.measures.calendar import CALENDAR
from bench.measures.crowd import CROWD
from bench.measures.desk import DESK
from bench.measures.fronts import FRONTS
from bench.measures.importing import IMPORTING
from bench.measures.lateness import BUSY, IDLE
from bench.measures.one_instant import ONE_INSTANT
from bench.measures.pages import PAGES
from bench.measures.pending import LARGE_PENDING, PENDING
from bench.measures.poison import POISON
from bench.measures.promotion import PROMOTION
from bench.measures.pushes import PUSHES
from bench.measures.readers import READERS
from bench.measures.recovery import RECOVERY
from bench.measures.refreshing import REFRESHING
from bench.measures.slow_redis import SLOW_REDIS
from bench.measures.webhooks import WEBHOOKS
from bench.measures.words import MATCHING
from bench.measures.writing import WRITING

MEASURES = (
    IDLE,
    BUSY,
    REFRESHING,
    BURST,
    LARGE_BURST,
    POISON,
    WRITING,
    PENDING,
    LARGE_PENDING,
    READERS,
    FRONTS,
    CROWD,
    PAGES,
    CALENDAR,
    ONE_INSTANT,
    DESK,
    RECOVERY,
    PROMOTION,
    MATCHING,
    IMPORTING,
    SLOW_REDIS,
    WEBHOOKS,
    PUSHES,
)
