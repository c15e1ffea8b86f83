"""Agents: a model makes an attempt, gets feedback, and tries again.

Agents do not depend on trainers or tensors; `openrlhf` adapts them to OpenRLHF's interface.
"""
