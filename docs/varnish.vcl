# Varnish 7 before Headline; see cache.md. Adapt the backend's address and the token, which is that of CDN_PURGE_HEADER.
vcl 4.1;

backend headline {
    .host = "127.0.0.1";
    .port = "8000";
}

sub vcl_recv {
    if (req.method == "PURGE") {
        if (req.http.Authorization != "Bearer change-me") {
            return (synth(403));
        }
        if (req.http.Surrogate-Key !~ "^[a-z]+(:[a-z0-9-]+)*( [a-z]+(:[a-z0-9-]+)*)*$") {
            return (synth(400));
        }
        # Only obj.*, so that the ban lurker takes them out in the background.
        ban("obj.http.Cache-Tag ~ (^|,)(" + regsuball(req.http.Surrogate-Key, " ", "|") + ")(,|$)");
        return (synth(200));
    }

    # The newsroom, programs that sign in, and what is for one reader alone.
    if (req.url ~ "^/(admin|api/v1/(desk|tasks|token)|i18n|preview|healthz|readyz|metrics)(/|$|\?)"
        || (req.method != "GET" && req.method != "HEAD")) {
        return (pass);
    }

    # Images that only the newsroom and holders of a preview link may see.
    if (req.url ~ "^/media/" && (req.http.Authorization || req.http.Cookie ~ "(^|;\s*)(sessionid|preview-[0-9a-f]+)=")) {
        return (pass);
    }

    # Of all that browsers say, only the language makes a difference: the one chosen, else the first that we speak.
    if (req.http.Cookie ~ "(^|;\s*)django_language=(en|zh-hans)(;|$)") {
        set req.http.Accept-Language = regsub(req.http.Cookie, "(.*;\s*|^)django_language=(en|zh-hans)(;.*|$)", "\2");
    } elsif (req.http.Accept-Language ~ "(?i)^\s*((?!en|zh)[^,]*,\s*)*zh") {
        set req.http.Accept-Language = "zh-hans";
    } elsif (req.http.Accept-Language ~ "(?i)(^|,)\s*en") {
        set req.http.Accept-Language = "en";
    } else {
        unset req.http.Accept-Language;
    }
    unset req.http.Cookie;
    unset req.http.Authorization;
    return (hash);
}

sub vcl_backend_response {
    # Nothing is shown past its time, not even while the new version is fetched.
    set beresp.grace = 0s;
    set beresp.keep = 0s;
    if (beresp.ttl <= 0s || beresp.http.Set-Cookie || beresp.http.Cache-Control ~ "private|no-store") {
        # Varnish would remember for two minutes that this is not to be kept; it may be in a second.
        set beresp.uncacheable = true;
        set beresp.ttl = 1s;
    }
    return (deliver);
}

sub vcl_deliver {
    # For this cache only: caches between here and the reader cannot be purged.
    set resp.http.Cache-Control = regsub(resp.http.Cache-Control, ",\s*s-maxage=\d+", "");
    unset resp.http.Surrogate-Key;
    unset resp.http.Cache-Tag;
}
