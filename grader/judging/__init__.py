"""The parts of `grader.judge`: what a run reported, how it ended, which tests a suite has."""
