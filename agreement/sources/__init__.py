"""Where pairs come from; each source says what it could not have."""
