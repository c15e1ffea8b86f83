"""What the kernel offers and counts, for the harness: no policy."""
