"""The task types as stored in task rows; `articles.handlers` has the handler of each."""

PUBLISH = "articles.publish"
UNPUBLISH = "articles.unpublish"
UPDATE = "articles.update"
OF_ARTICLES = (PUBLISH, UNPUBLISH, UPDATE)
"""The tasks of a single article, with its id as key."""

RELEASE = "articles.release"
DATE = "articles.date"
REVIEW = "articles.review"
REVIEW_AGAIN = "articles.review_again"
BULK_ACTION = "articles.batch"
NOTIFY = "articles.notify"
MAIL = "articles.mail_notice"
PING = "articles.ping"
PURGE = "articles.purge"
