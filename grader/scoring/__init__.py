"""From verdicts to scores and rewards, to summaries, and to limits that fit."""
