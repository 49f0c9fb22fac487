"""What readers get is made once and kept until it changes: by the clock to the millisecond, by people at their commit.

`pages` keeps answers, `coherence` knows until when they are true, `tags` names what they show, `purging` makes them
void when that changes, and `answers` tells browsers and proxies the same over HTTP. See docs/caches.md.
"""
