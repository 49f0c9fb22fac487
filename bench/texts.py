"""The text of the articles of all contestants."""

BODY = "<p>" + "All the news that is fit to be measured. " * 50 + "</p>"
