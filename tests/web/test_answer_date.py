"""The Date of answers: the engine's clock, to the second."""

import pytest


@pytest.mark.parametrize("path", ["/livez", "/", "/v1/schedules", "/nowhere"])
def test_an_answer_is_dated_by_the_engines_clock(api, engine, path: str):
    engine.clock.ms = 2_064_310_830_999
    assert api.get(path).headers["Date"] == "Fri, 01 Jun 2035 11:40:30 GMT"
    engine.clock.ms += 1
    assert api.get(path).headers["Date"] == "Fri, 01 Jun 2035 11:40:31 GMT"
