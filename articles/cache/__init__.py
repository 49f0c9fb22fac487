"""The response cache for readers' pages, feeds and API.

`views` caches responses, `store` reads and rebuilds one entry, `ttl` limits how long it is valid and `next_change` when
it expires, `tags` names what it shows, `versions` and `invalidate` drop it when that changes, `response` adds the HTTP
headers, and `cdn` purges proxies. `wsgi` answers hits before Django, with copies in `memory`. See docs/cache.md.
"""

from articles.cache.backend import CacheFailed as CacheFailed
from articles.cache.cdn import (
    refused_purges as refused_purges,
    run_purge as run_purge,
    schedule_purge as schedule_purge,
)
from articles.cache.invalidate import (
    purge_articles as purge_articles,
    purge_at_once as purge_at_once,
    purge_before as purge_before,
    purge_tags as purge_tags,
)
from articles.cache.next_change import changes_beside as changes_beside, may_show_alert as may_show_alert
from articles.cache.request_metrics import write_request_metrics as write_request_metrics
from articles.cache.response import (
    CachedResponse as CachedResponse,
    set_cache_headers as set_cache_headers,
    set_tag_headers as set_tag_headers,
)
from articles.cache.tags import (
    HEADER as HEADER,
    NEWS as NEWS,
    SITE as SITE,
    article_tag as article_tag,
    author_tag as author_tag,
    channel_tag as channel_tag,
    front_tag as front_tag,
    tagged as tagged,
    topic_tag as topic_tag,
    version_tag as version_tag,
)
from articles.cache.ttl import IMAGE_AGE as IMAGE_AGE, MAX_TTL as MAX_TTL
from articles.cache.views import (
    MAX_PATHS as MAX_PATHS,
    WrongSlug as WrongSlug,
    as_readers_see as as_readers_see,
    bypassing as bypassing,
    cached as cached,
    compose_by as compose_by,
    get_or_build as get_or_build,
)
from articles.cache.wsgi import CacheMiddleware as CacheMiddleware
