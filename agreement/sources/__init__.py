"""Where pairs come from. Each source reports what it could not fetch."""
