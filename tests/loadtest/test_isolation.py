"""Who pays for whom, at a size that a test has time for; `isolation` shows it at full size."""

from itertools import pairwise

from loadtest.isolation import downtime, equal_tenants, hung_destination, noisy_tenant


def test_a_quiet_tenant_hardly_feels_a_noisy_one():
    quiet = noisy_tenant(backlog=4_000, seconds=4)
    assert quiet.runs == 4
    assert quiet.beside_ms <= quiet.solo_ms + 250


def test_tenants_with_equal_backlogs_get_equal_shares():
    assert equal_tenants(tenants=10, backlog=300, seconds=2) >= 0.99


def test_a_hung_destination_costs_the_others_next_to_nothing_and_is_asked_by_probes():
    found = hung_destination(hosts=50, seconds=70, rate=50, delay_ms=200)
    assert found.beside >= 0.95 * found.solo
    # Ten timeouts open the breaker; by then at most 20 more are under way, its parallelism.
    assert 10 <= found.before <= 30
    assert found.spent == found.before, "no probe used up an attempt"
    waits_ms = [b - a for a, b in pairwise([found.opened_ms, *found.probes_ms])]
    # The door stays closed for 5 s, and after a probe, which hangs for 15 s itself, for 10 s.
    assert [ms // 1_000 for ms in waits_ms] == [5, 25]


def test_fresh_runs_keep_their_own_time_while_an_hour_is_caught_up():
    caught_up = downtime(missed=2_500, fresh_rate=10, rate=100)
    assert caught_up.missed == 2_500
    assert caught_up.seconds >= 49  # At half of the rate.
    assert caught_up.fresh_ms <= 1_000
