"""The response cache for readers' pages, feeds and API.

`views` caches responses, `store` reads and rebuilds one entry, `ttl` limits how long it is valid and `next_change` when
it expires, `tags` names what it shows, `versions` and `invalidate` drop it when that changes, `response` adds the HTTP
headers, and `cdn` purges proxies. `wsgi` answers hits before Django, with copies in `memory`. See docs/cache.md.
"""

from articles.cache.backend import CacheFailed
from articles.cache.cdn import refused_purges, run_purge, schedule_purge
from articles.cache.invalidate import purge_articles, purge_at_once, purge_tags
from articles.cache.response import CachedResponse, set_cache_headers, set_tag_headers
from articles.cache.tags import NEWS, SITE, article_tag, author_tag, channel_tag, tagged, topic_tag
from articles.cache.ttl import IMAGE_AGE, MAX_TTL
from articles.cache.views import MAX_PATHS, WrongSlug, cached, get_or_build
from articles.cache.wsgi import CacheMiddleware

__all__ = [
    "IMAGE_AGE",
    "MAX_PATHS",
    "MAX_TTL",
    "CacheMiddleware",
    "CachedResponse",
    "CacheFailed",
    "NEWS",
    "SITE",
    "WrongSlug",
    "article_tag",
    "author_tag",
    "cached",
    "channel_tag",
    "get_or_build",
    "set_tag_headers",
    "schedule_purge",
    "purge_articles",
    "purge_at_once",
    "purge_tags",
    "refused_purges",
    "run_purge",
    "set_cache_headers",
    "tagged",
    "topic_tag",
]
