"""Throughput, latency and memory of the grader, beside other ways to run the same programs."""
