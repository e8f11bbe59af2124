"""Settings for every test."""

from hypothesis import settings

# Examples are chosen anew only when a test changes, so a failure is the change's own. There is no
# deadline for one example: the machine is shared, and timings belong in scripts/bench.
settings.register_profile("offbeat", derandomize=True, deadline=None)
settings.load_profile("offbeat")
