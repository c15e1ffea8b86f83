"""Slots in namespace jails."""
