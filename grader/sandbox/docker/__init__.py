"""Slots in Docker containers."""
