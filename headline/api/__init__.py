"""What all REST APIs share: tokens, errors, idempotency, pagination, throttling and the schema."""
