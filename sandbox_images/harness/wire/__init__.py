"""What both ends of the wire share: frames of bytes, and plain data as JSON."""
