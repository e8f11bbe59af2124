"""The HTTP interface (SPEC §10)."""
