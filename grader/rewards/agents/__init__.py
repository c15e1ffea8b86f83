"""Agents: a model tries, is told what came of it, and tries again.

An agent knows nothing of trainers or tensors; `openrlhf` puts one behind OpenRLHF's interface.
"""
