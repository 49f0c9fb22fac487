"""The article text that all contestants use."""

BODY = "<p>" + "All the news that is fit to be measured. " * 50 + "</p>"
