"""The loops around the core. Each declares the protocols that it needs."""
