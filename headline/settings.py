"""Settings of the project; every value that differs between installations comes from `headline.env`."""

from __future__ import annotations

import shlex
import sys
from datetime import timedelta

import django_stubs_ext
from django.templatetags.static import static

from articles.limits import LARGEST_BODY, LARGEST_UPLOAD
from headline import colors, database, debug_mode, env, logs, media, telemetry
from headline.caches import caches

# Lets Django's generic classes be written with their types, as in `ModelAdmin[Article]`.
django_stubs_ext.monkeypatch()

BASE_DIR = env.BASE_DIR
DATA_DIR = env.directory("DATA_DIR", default=BASE_DIR / "var")
SITE_URL = env.site_url("SITE_URL", default="http://127.0.0.1:8000")
LOCAL_HOSTS = ["localhost", ".localhost", "127.0.0.1", "[::1]"]

# Security

ALLOWED_HOSTS = env.hosts("DJANGO_ALLOWED_HOSTS", default=[*LOCAL_HOSTS, env.host_of(SITE_URL)])
DEBUG = debug_mode.debug(site_host=env.host_of(SITE_URL), hosts=ALLOWED_HOSTS)
SECRET_KEY, SECRET_KEY_FALLBACKS = debug_mode.secret_keys(debug=DEBUG)
CSRF_TRUSTED_ORIGINS = [SITE_URL]
CSRF_FAILURE_VIEW = "headline.accounts.refused_forms.csrf_failure"
if SITE_URL.startswith("https://"):
    # TLS ends at a proxy in front, which must set this header and drop one that a client sent.
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = 30 * 24 * 3600
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
# Redirects to https, and HSTS for subdomains, are left to the proxy and the owner of the domain.
# On MySQL some uniqueness of django-allauth is not enforced by the database (models.W036).
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W008", "security.W021", "models.W036"]
# Searches, comparisons and uploads of readers, and as many of staff, that a process of the web server works on at once.
EXPENSIVE_REQUESTS = env.number("EXPENSIVE_REQUESTS", default=2, least=1)
REQUEST_TIMEOUT = env.number("REQUEST_TIMEOUT", default=30, least=1)  # seconds for the statements of a request
IMAGES_AT_ONCE = env.number("IMAGES_AT_ONCE", default=2, least=1)  # decoded at once by all processes of a host
PROXY_COUNT = env.number("PROXY_COUNT", default=0)  # proxies in front of the site, for limits by address

# Accounts

AUTHENTICATION_BACKENDS = ["headline.accounts.backends.LimitedBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}Validator", "OPTIONS": options}
    for name, options in debug_mode.PASSWORD_RULES.items()
]
SESSION_COOKIE_AGE = 3600 * env.number("SESSION_HOURS", default=12, least=1)  # after the last request
PASSWORD_RESET_TIMEOUT = 3600  # seconds
INVITATION_TIMEOUT = 7 * 24 * 3600  # seconds, at least the former
API_TOKEN_LIFETIME = timedelta(days=env.number("API_TOKEN_DAYS", default=90, least=1))  # default
LOGIN_URL = "admin:login"

# Single sign-on and second factors, with django-allauth; attempts are limited by headline.accounts

SSO_NAME = env.text("SSO_NAME")
SSO_ROLES = env.mapping("SSO_ROLES")  # group of the identity provider to role
SSO_TRUST_EMAIL = env.flag("SSO_TRUST_EMAIL", default=False)
OIDC_GROUPS_CLAIM = env.text("OIDC_GROUPS_CLAIM", default="groups")
OIDC = env.open_id(env.text("OIDC_ISSUER"), env.text("OIDC_CLIENT_ID"), env.text("OIDC_CLIENT_SECRET"), roles=SSO_ROLES)
LDAP = env.ldap(
    env.text("AUTH_LDAP_SERVER"),
    is_plain=env.flag("AUTH_LDAP_PLAIN", default=False),
    ca_file=env.text("AUTH_LDAP_CA_FILE"),
    bind_dn=env.text("AUTH_LDAP_BIND_DN"),
    bind_password=env.text("AUTH_LDAP_BIND_PASSWORD"),
    user_dn=env.text("AUTH_LDAP_USER_DN"),
    user_base=env.text("AUTH_LDAP_USER_BASE"),
    user_filter=env.text("AUTH_LDAP_USER_FILTER", default="(uid=%(user)s)"),
    group_base=env.text("AUTH_LDAP_GROUP_BASE"),
    group_type=env.text("AUTH_LDAP_GROUP_TYPE", default="groupOfNames", choices=env.LDAP_GROUP_TYPES),
    roles=SSO_ROLES,
    trusts_email=SSO_TRUST_EMAIL,
)
SAML = env.saml(
    env.text("SAML_IDP_ENTITY_ID"),
    metadata=env.text("SAML_METADATA"),
    sso_url=env.text("SAML_SSO_URL"),
    certificate=env.text("SAML_CERTIFICATE"),
    sp_entity_id=env.text("SAML_SP_ENTITY_ID"),
    email_attribute=env.text("SAML_EMAIL_ATTRIBUTE", default="email"),
    name_attribute=env.text("SAML_NAME_ATTRIBUTE", default="name"),
    groups_attribute=env.text("SAML_GROUPS_ATTRIBUTE", default="groups"),
    roles=SSO_ROLES,
    trusts_email=SSO_TRUST_EMAIL,
    has_open_id=bool(OIDC),
)
SECOND_FACTOR_ROLES = env.names("SECOND_FACTOR_ROLES")  # names of roles, "Administrator" or "all"
SECOND_FACTOR_AT_PROVIDER = env.flag("SECOND_FACTOR_AT_PROVIDER", default=False)

ACCOUNT_ADAPTER = "headline.accounts.sign_in.SignInAdapter"
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_RATE_LIMITS = False
ACCOUNT_FORMS = {"reauthenticate": "headline.accounts.password_forms.ConfirmPasswordForm"}
MFA_ADAPTER = "headline.accounts.second_factor_adapter.SecondFactorAdapter"
MFA_ALLOW_UNVERIFIED_EMAIL = True  # addresses are typed by administrators, or confirmed by the identity provider
MFA_FORMS = {
    "add_webauthn": "headline.accounts.factor_forms.PasskeyForm",
    "authenticate_webauthn": "headline.accounts.factor_forms.PasskeyCodeForm",
    "login_webauthn": "headline.accounts.factor_forms.PasskeyLogInForm",
    "reauthenticate_webauthn": "headline.accounts.factor_forms.ConfirmPasskeyForm",
    "activate_totp": "headline.accounts.factor_forms.ActivateForm",
    "authenticate": "headline.accounts.factor_forms.CodeForm",
    "reauthenticate": "headline.accounts.factor_forms.ConfirmCodeForm",
}
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_RATE_LIMITS = False
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_TOTP_TOLERANCE = 1  # periods of 30 seconds by which a clock may differ
MFA_WEBAUTHN_USER_VERIFICATION = "required"
SOCIALACCOUNT_ADAPTER = "headline.accounts.single_sign_on.SingleSignOnAdapter"
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {
        "provider_class": "headline.accounts.oidc.CheckedOIDCProvider",
        "OAUTH_PKCE_ENABLED": True,  # binds the answer to the session, so a nonce is not needed
        "APPS": [{"provider_id": "oidc", "name": "OpenID Connect", **OIDC}] if OIDC else [],
    },
    "saml": {
        "provider_class": "headline.accounts.saml.CheckedSAMLProvider",
        "APPS": [{"client_id": "saml", "name": "SAML"}] if SAML else [],
    },
}

# Applications

INSTALLED_APPS = [
    "headline.desk_site.DeskSiteConfig",  # unfold
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.socialaccount.providers.saml",
    "allauth.mfa",
    "allauth.usersessions",
    "headline.accounts",  # its createsuperuser comes before Django's
    "django.contrib.admin.apps.SimpleAdminConfig",  # workers need no admin; headline.urls discovers it
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "headline",
    "django_crontab",
    "django_filters",
    "django_prometheus",
    "django_prose_editor",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "headline.api",
    "scheduling",
    "articles",
]

MIDDLEWARE = [
    "django_prometheus.middleware.PrometheusBeforeMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "headline.content_security.BrowserPolicyMiddleware",
    "headline.doctor.middleware.ProbesMiddleware",
    "headline.unavailable.RecoveryMiddleware",
    "headline.deadline.DeadlineMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "headline.accounts.middleware.SessionMiddleware",
    "articles.middleware.NoStoreMiddleware",
    "headline.languages.ChosenLanguageMiddleware",
    "headline.admission.AdmissionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "headline.api.newsroom_user.NewsroomUserMiddleware",
    "headline.body_limits.BodyLimitMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "headline.accounts.middleware.SlidingSessionMiddleware",
    "headline.accounts.middleware.EndedSessionMiddleware",
    "headline.accounts.second_factor.SecondFactorMiddleware",
    "articles.middleware.SourceMiddleware",
    "articles.middleware.PreferencesMiddleware",
    "articles.middleware.DueMiddleware",
    "articles.middleware.ReadingInstantMiddleware",
    "articles.middleware.ForgedNumbersMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "headline.api.idempotency.IdempotencyMiddleware",
    "django_prometheus.middleware.PrometheusAfterMiddleware",
]

ROOT_URLCONF = "headline.urls"
LOGIN_REDIRECT_URL = "admin:index"
WSGI_APPLICATION = "headline.wsgi.application"
ASGI_APPLICATION = "headline.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

# Database

CONNECTION_LIFETIME = 60  # seconds a thread keeps its connection
DATABASE_TIMEOUT = env.number("DATABASE_TIMEOUT", default=8, least=2)
DATABASES = {
    "default": env.database("DATABASE_URL", default=f"sqlite:///{DATA_DIR}/headline.sqlite3")
    | {"CONN_MAX_AGE": CONNECTION_LIFETIME, "CONN_HEALTH_CHECKS": True}
}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
else:
    DATABASES["default"]["OPTIONS"] |= database.mysql_options(DATABASE_TIMEOUT)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# The queue, the cache, cron

SCHEDULING_REDIS_URL = env.redis("REDIS_URL")
SCHEDULING_KEY_PREFIX = env.text("REDIS_KEY_PREFIX", default="auto")

REDIS_CACHE_URL = env.redis_cache("REDIS_CACHE_URL", queue=SCHEDULING_REDIS_URL)
CACHES = caches(REDIS_CACHE_URL)

# The longest TTL of a cached response, in seconds. Without Redis each process has its own cache, which others cannot
# invalidate: then it only spares rendering the same page for many simultaneous readers.
PAGE_CACHE_SECONDS = 60.0 if REDIS_CACHE_URL else 0.2
PAGE_CACHE_MEMORY = 32 * 1024 * 1024  # bytes of each web process for copies of what is in Redis

# Proxies and CDNs in front, which may cache responses if they can be purged.
CDN_PURGE_URLS = env.addresses("CDN_PURGE_URLS")
CDN_PURGE_METHOD = env.text("CDN_PURGE_METHOD", default="PURGE", choices=("PURGE", "BAN", "POST"))
CDN_PURGE_HEADER = env.header("CDN_PURGE_HEADER")

# How long a web process may send copies without asking Redis whether they are still valid, in seconds. Behind proxies
# that cache it always asks: after a purge, they must get the new response.
PAGE_CACHE_VALIDATION_SECONDS = 0.0 if CDN_PURGE_URLS else 0.01

# `manage.py crontab add` installs these; two runs of `poll` may overlap, because row locks separate them.
CRONJOBS = [
    ("* * * * *", "django.core.management.call_command", ["refresh"]),
    ("* * * * *", "django.core.management.call_command", ["poll", "--for", "60"]),
]
CRON_COPY = DATA_DIR / "cron.env"
CRON_ENVIRONMENT = env.FILE or CRON_COPY  # read by the jobs
CRON_LOG = DATA_DIR / "cron.log"
CRONTAB_EXECUTABLE = "crontab"
CRONTAB_DJANGO_PROJECT_NAME = "headline"
CRONTAB_DJANGO_MANAGE_PATH = str(BASE_DIR / "manage.py")
CRONTAB_PYTHON_EXECUTABLE = sys.executable
CRONTAB_COMMAND_PREFIX = f"ENV_FILE={shlex.quote(str(CRON_ENVIRONMENT))}"
CRONTAB_COMMAND_SUFFIX = f">> {shlex.quote(str(CRON_LOG))} 2>&1"

# The review

MAY_ACT_WITHOUT_SESSION = "headline.accounts.second_factor.may_act_without_session"  # of a user; for feeds and links
COUNT_MEGAPIXELS = "headline.accounts.rate_limits.count_megapixels"  # of images that a user has decoded
COUNT_SUBSCRIPTION = "headline.accounts.rate_limits.count_subscription"  # of the client of a request
OPERATORS_OF_PROGRAMS = "headline.api.service_accounts.operators_of"  # with whom a program counts as one person
REVIEW_SERVICES: list[str] = []  # dotted names of classes, see articles/review/providers.py
REVIEW_TIMEOUT = 10.0  # seconds for all services together, then a human reviews
REVIEW_AT_ONCE = 50_000  # characters up to which an article is reviewed while the editor waits
REVIEW_SOFT_LOCK = timedelta(minutes=30)  # lifetime of a reviewer's soft lock

# Language and time

USE_TZ = True
TIME_ZONE = env.time_zone("TIME_ZONE", default="UTC")
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LANGUAGE_CODE = env.text("LANGUAGE_CODE", default="en", choices=dict(LANGUAGES))
LOCALE_PATHS = [BASE_DIR / "headline" / "locale"]

# Files

# A form encodes each of an article's up to a million Chinese characters in nine bytes.
DATA_UPLOAD_MAX_MEMORY_SIZE = LARGEST_BODY

STATIC_URL = "static/"
STATIC_ROOT = env.subdirectory("DATA_DIR", DATA_DIR / "static")  # WhiteNoise warns if it is missing
MEDIA_ROOT = DATA_DIR / "media"
MEDIA = media.storage("MEDIA_STORAGE", env.text("MEDIA_STORAGE"))
MEDIA_URL = MEDIA.url
FOREIGN_MEDIA = env.text("FOREIGN_MEDIA", default="refuse", choices=("refuse", "copy"))
FOREIGN_MEDIA_HOSTS = env.names("FOREIGN_MEDIA_HOSTS")  # "*": all
MEDIA_ACCEL_REDIRECT = media.accel_redirect("MEDIA_ACCEL_REDIRECT", env.text("MEDIA_ACCEL_REDIRECT"))
STORAGES = {
    "default": MEDIA.backend,
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "headline.static_files.StaticFiles"
    },
}
WHITENOISE_USE_FINDERS = True
# Images are processed in memory; a larger file is read to its end and refused.
FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.MemoryFileUploadHandler"]
# Private networks from which programs may fetch images by address, such as that of an archive.
FETCH_NETWORKS = env.networks("FETCH_NETWORKS")
FILE_UPLOAD_MAX_MEMORY_SIZE = LARGEST_UPLOAD

# Mail

globals().update(env.mail("EMAIL_URL", debug=DEBUG))
EMAIL_TIMEOUT = 10  # seconds
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.sender("EMAIL_FROM", default="Headline <headline@localhost>")

# Log

LOG_FORMAT = env.text("LOG_FORMAT", default="text", choices=logs.FORMATS)
LOGGING = logs.configuration(LOG_FORMAT)

# The newsroom

FRONT_ARCHIVE = env.flag("FRONT_ARCHIVE", default=False)
ARTICLES_TWO_PERSON_RULE = env.flag("TWO_PERSON_RULE", default=False)
CALENDAR_CONFLICT = timedelta(minutes=5)  # two articles of a channel closer than this are a conflict
WEBSUB_HUB = env.address("WEBSUB_HUB")
EVENT_DAYS = env.number("EVENT_DAYS", default=30, least=1)
EVENTS_SINK = env.text("EVENTS_SINK")
WEBHOOK_ALLOW_HTTP = env.flag("WEBHOOK_ALLOW_HTTP", default=False)
PUSH_KEY = env.push_key("PUSH_KEY")
PUSH_HOSTS = [name.lower() for name in env.names("PUSH_HOSTS")]
PUSH_DAYS = env.number("PUSH_DAYS", default=30, least=1)
PUSH_PER_DAY = env.number("PUSH_PER_DAY", default=5, least=1)
PUSH_QUIET_HOURS = env.hours("PUSH_QUIET_HOURS", default="23:00-07:00")
WEBHOOK_ALLOWED_HOSTS = [name.lower() for name in env.names("WEBHOOK_ALLOWED_HOSTS")]

# Embedded players for URLs that are alone in a paragraph: the name, a regular expression for the URLs (valid in
# JavaScript, too), and the player's URL, which contains the expression's group.
YOUTUBE, BILIBILI = "https://www.youtube-nocookie.com/embed/{}", "https://player.bilibili.com/player.html?bvid={}"
EMBEDS = [
    ("YouTube", r"https?://(?:(?:www|m)\.)?youtube\.com/watch\?(?:[^#]*&)?v=([\w-]{11})(?![\w-])", YOUTUBE),
    ("YouTube", r"https?://(?:www\.)?youtube(?:-nocookie)?\.com/(?:embed|shorts|live)/([\w-]{11})(?![\w-])", YOUTUBE),
    ("YouTube", r"https?://youtu\.be/([\w-]{11})(?![\w-])", YOUTUBE),
    ("Vimeo", r"https?://(?:player\.|www\.)?vimeo\.com/(?:video/)?(\d+)(?!\d)", "https://player.vimeo.com/video/{}"),
    ("Bilibili", r"https?://(?:www|m)\.bilibili\.com/video/(BV\w{10})(?!\w)", BILIBILI),
    ("Bilibili", r"https?://player\.bilibili\.com/player\.html\?(?:[^#]*&)?bvid=(BV\w{10})(?!\w)", BILIBILI),
]

# Monitoring

SENTRY_DSN = env.text("SENTRY_DSN")
telemetry.start_sentry(SENTRY_DSN)
OTEL_ENDPOINT = env.address("OTEL_EXPORTER_OTLP_ENDPOINT")
METRICS_TOKEN = env.text("METRICS_TOKEN")
METRICS_NETWORKS = env.networks("METRICS_NETWORKS")
METRICS_COUNT_INTERVAL = 30.0  # seconds between two counts of articles by a web process

# The admin

UNFOLD = {
    "SITE_TITLE": "Headline",
    "SITE_HEADER": "Headline",
    "SITE_SYMBOL": "newspaper",
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("articles/icon.svg")}],
    "SHOW_LANGUAGES": True,
    "STYLES": [lambda request: static("articles/desk.css")],
    "SCRIPTS": [
        lambda request: static("articles/csrf.js"),
        lambda request: static("articles/pressed.js"),
        lambda request: static("articles/desk.js"),
    ],
    "LANGUAGES": {"action": "articles.desk.menu.language_action"},
    "ACCOUNT": {"navigation": "articles.desk.menu.account"},
    "DASHBOARD_CALLBACK": "articles.desk.dashboard.page.add_sections",
    "SHOW_HISTORY": "articles.desk.menu.shows_history",
    "SIDEBAR": {"navigation": "articles.desk.menu.navigation"},
    "COLORS": {"primary": colors.PRIMARY},
}

# Programs

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "headline.api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAdminUser", "headline.api.permissions.InScope"],
    "DEFAULT_PARSER_CLASSES": ["headline.api.parsers.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PAGINATION_CLASS": "articles.api.pagination.CursorPages",
    "DEFAULT_SCHEMA_CLASS": "headline.api.schema.Schema",
    "DEFAULT_THROTTLE_CLASSES": ["headline.api.throttling.AddressThrottle"],
    "DEFAULT_THROTTLE_RATES": {"anon": "1200/min"},
    "EXCEPTION_HANDLER": "headline.api.errors.with_code",
    "NUM_PROXIES": PROXY_COUNT,
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
CORS_ORIGINS = env.origins("CORS_ORIGINS")  # of pages whose scripts may use the API, with tokens
SPECTACULAR_SETTINGS = {
    "TITLE": "Headline",
    "DESCRIPTION": "Articles for readers, the newsroom for staff, and a delayed-task engine for programs.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_AUTHENTICATION": [],
    "DEFAULT_GENERATOR_CLASS": "headline.api.schema.Generator",
    "COMPONENT_SPLIT_REQUEST": True,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "ENUM_NAME_OVERRIDES": {
        "ArticleState": "articles.models.State",
        "ArticleStatus": "articles.models.Article.Status",
        "BlockChange": "articles.text.RowChange",
        "BlockKind": "articles.models.Block.Kind",
        "CalendarKind": "articles.desk.calendar.entries.EntryKind",
        "CoverMode": "articles.models.CoverMode",
        "FrontVersionState": "articles.models.FrontVersion.State",
        "NotificationKind": "articles.models.Notification.Kind",
        "ReleaseAction": "articles.models.ReleaseMember.Action",
        "ReleaseStatus": "articles.models.Release.Status",
        "ReviewStage": "articles.models.ReviewStage.Kind",
        "TaskStatus": "scheduling.models.TaskInfoLog.Status",
        "TextChange": "articles.text.Change",
    },
    "WEBHOOKS": ["articles.api.webhook_schema.WEBHOOK"],
    "POSTPROCESSING_HOOKS": ["drf_spectacular.hooks.postprocess_schema_enums", "headline.api.schema.name_numbers"],
}
