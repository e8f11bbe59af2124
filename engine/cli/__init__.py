"""The command line (SPEC §10): one module per noun."""
