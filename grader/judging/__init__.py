"""From what runs left behind to verdicts; `verdicts` is the way in, the rest are its parts."""
