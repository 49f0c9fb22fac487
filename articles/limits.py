"""Limits of what anyone may send: models, forms, APIs, imports and OpenAPI read them here.

The comment of each completes "at most … ", as in docs/limits.md. The engine's own are in `scheduling/limits.py`.
"""

# Texts

TITLE_LENGTH = 200  # characters of a headline, and of the titles for search results and shared links
SLUG_LENGTH = 200  # characters of an article's slug
SUMMARY_LENGTH = 500  # characters of a summary
BYLINE_LENGTH = 120  # characters of a byline
BODY_LENGTH = 1_000_000  # characters of a body, as HTML
MOST_BODY_ELEMENTS = 30_000  # elements and line ends of a body
HTML_DEPTH = 100  # levels of elements in HTML; what is deeper loses its tags
REASON_LENGTH = 500  # characters of a reason, a retraction notice or a correction
REVISION_NOTE_LENGTH = 300  # characters of the note about a revision
EXTERNAL_ID_LENGTH = 191  # characters of the id under which an article was imported
DESCRIPTION_LENGTH = 300  # characters of a channel's or webhook's description
WEBHOOK_ANSWER_LENGTH = 1_000  # characters of a webhook's answer in the log
ALERT_LENGTH = 140  # characters of a breaking alert
PUSH_ADDRESS_LENGTH = 1_000  # characters of the address that a push service gives a browser
LABEL_LENGTH = 80  # characters of the name or slug of a channel, tag, template, token or passkey
IMAGE_TITLE_LENGTH = 200  # characters of an image's title
ALT_LENGTH = 500  # characters of an alt text
CAPTION_LENGTH = 1000  # characters of a caption
CREDIT_LENGTH = 200  # characters of a credit
NOTE_LENGTH = 4_000  # characters of a note
THREAD_LENGTH = 20_000  # characters of a thread of notes
QUOTE_LENGTH = 2_000  # characters of the passage that a note is about
CONTEXT_LENGTH = 64  # characters before and after that passage
RELEASE_NAME_LENGTH = 120  # characters of a release's name
RECIPIENT_LENGTH = 120  # characters of the recipient of a preview link
STAGE_NAME_LENGTH = 60  # characters of the own name of a review stage
VIEW_NAME_LENGTH = 60  # characters of the name of a saved view
VIEW_QUERY_LENGTH = 1000  # characters of the query of a saved view
WORD_LENGTH = 100  # characters of a sensitive word
WORD_LINE_LENGTH = 1000  # characters of a line in a list of words
PASTED_LENGTH = 5_000_000  # characters of a pasted or uploaded list of words
USERNAME_LENGTH = 150  # characters of a log-in name, or of the name of a person, role or service account
EMAIL_LENGTH = 254  # characters of an email address
PASSWORD_LENGTH = 4_096  # characters of a password
CODE_LENGTH = 30  # characters of a second factor's code
PASSKEY_LENGTH = 20_000  # characters of what a browser sends for a passkey, as JSON
PURPOSE_LENGTH = 200  # characters of the purpose of a service account
TIME_LENGTH = 64  # characters of a time or a time zone

# Searches and parameters

SEARCH_LENGTH = 100  # characters of a search in lists and of readers
PALETTE_LENGTH = 200  # characters of a search in the palette and in logs
MOST_WORDS = 20  # words of a search
ADDRESS_LENGTH = 2_000  # characters of an address
CURSOR_LENGTH = 2_000  # characters of a cursor or a checkpoint
FIELDS_LENGTH = 1_000  # characters of the parameter `fields`
SPAN_LENGTH = 40  # characters of a span of time
ACTION_LENGTH = 40  # characters of the name of an action in the audit log
VERSION_LENGTH = 40  # characters of the version of a proposed change
ENTRY_KEY_LENGTH = 60  # characters of the key of a calendar entry
PAGE_SIZE = 50  # rows of a page in the API
LARGEST_PAGE_SIZE = 9_999  # rows that `page_size` may ask for; it gets as many as a page has

# Lists

MOST_COVERS = 3  # images of a cover
MOST_TAGS = 50  # tags of an article or a template
MOST_IDS = 100  # ids in the parameter `ids`
MOST_BULK = 10_000  # articles in a bulk action
MOST_RESCHEDULED = 1000  # articles rescheduled by one request
MOST_MEMBERS = 500  # articles in a release
MOST_DRAFTS = 20  # drafts of a front
MOST_RULES = 20  # recurring versions of a front
CLOCK_LENGTH = 8  # characters of a time of day
MOST_WEEKDAYS = 7  # days of a rule
MOST_SKIPPED = 400  # days of a rule that are skipped
MOST_CARDS = 100  # cards of a version of a front
MOST_BLOCKS = 20  # blocks of a version of a front
MOST_SHOWN = 50  # cards that a block shows
MOST_SUBLINKS = 6  # lines below a card
MOST_OPERATIONS = 100  # operations on a front in one request
MOST_NOTES = 200  # notes in the open threads of an article
MOST_REPLIES = 20  # replies in a thread of notes
MOST_MENTIONS = 20  # mentions in a note
MOST_READ = 1000  # notifications marked as read by one request
MOST_WORD_LINES = 10_000  # lines in a list of words by API
MOST_STAGES = 10  # review stages
MOST_ENDPOINTS = 1_000  # webhooks
MOST_PUSH_TOPICS = 50  # topics of a push subscription
MOST_REPLAYED = 10_000  # events sent again by one request
MOST_PERMISSIONS = 500  # permissions of a role
MOST_TOKENS = 50  # tokens of a user
TOKEN_DAYS = 365  # days that a token is valid
PREVIEW_DAYS = 30  # days that a preview link is valid

# Bodies and files

SMALL_BODY = 64 * 1024  # bytes of a body that anyone may send: log-ins and forms of readers
PUSH_BODY = 8 * 1024  # bytes of a push subscription, as JSON
ENDED_SESSION_BODY = 1024 * 1024  # bytes of a form sent after the end of a session, whose text is shown again
ORDINARY_BODY = 1024 * 1024  # bytes of a body of a signed-in user without article, template, list of words or file
LARGEST_BODY = 16 * 1024 * 1024  # bytes of any other body: a form takes nine for each Chinese character
LARGEST_UPLOAD = 21_000_000  # bytes of an upload: the largest image plus the rest of the form
IMAGE_BYTES = 20_000_000  # bytes of an image file
IMAGE_PIXELS = 50_000_000  # pixels of an image
MEGAPIXELS_AN_HOUR = 5_000  # million pixels of images that a person uploads in an hour
IMAGE_SIDE = 16_000  # pixels of an image's side; slightly below WebP's limit
IMAGE_RATIO = 100  # times that one side of an image is longer than the other
