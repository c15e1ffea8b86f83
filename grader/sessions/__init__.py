"""Sessions: Python that keeps its state from step to step, and branches at any of them."""
