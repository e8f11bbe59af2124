"""The command line (SPEC §10): one module per noun, loaded when it is named.

`offbeat --help` and the pure commands (`next`, `sign`, `verify`) import neither aiohttp nor the
engine, so that they answer as fast as an interpreter starts. Commands return their exit code;
what goes wrong travels as an `OffbeatError` to `root.execute`, which alone writes it.
"""
