"""This process: its cores, its threads, its checkout and its end."""
