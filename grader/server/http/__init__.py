"""What every request passes, whatever its endpoint."""
