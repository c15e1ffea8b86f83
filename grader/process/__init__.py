"""This process: its cores, threads, checkout and exit."""
