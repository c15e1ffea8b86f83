"""What all endpoints share: middleware, request context, cancellation, idempotency, logs."""
