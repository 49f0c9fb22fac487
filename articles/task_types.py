"""The task types of the newsroom, as the engine stores them; `articles.handlers` says what runs each."""

PUBLISH = "articles.publish"
UNPUBLISH = "articles.unpublish"
UPDATE = "articles.update"
OF_ARTICLES = (PUBLISH, UNPUBLISH, UPDATE)
"""The tasks that an article has of itself, with its id as key."""

RELEASE = "articles.release"
REVIEW = "articles.review"
REVIEW_AGAIN = "articles.review_again"
BULK_ACTION = "articles.batch"
MAIL = "articles.mail_notice"
PING = "articles.ping"
PURGE = "articles.purge"
