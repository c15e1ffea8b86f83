"""How a slot and each run in it are locked in: namespaces, system call filters, mounts."""
