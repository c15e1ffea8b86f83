"""Access to what the kernel offers and counts. Policy is elsewhere."""
