"""The endpoints, a module for each; the live page has its own."""
