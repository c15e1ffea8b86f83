"""Make text from outside safe to show, hide secrets, and read long integers."""
