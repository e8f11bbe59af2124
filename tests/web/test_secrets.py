"""`/v1/secrets`: shown to be given to receivers, rotated, retired."""

from tests.web.conftest import NEWER, SECRET


def test_secrets_are_not_kept_by_caches(api):
    answer = api.get("/v1/secrets")
    assert answer.json == {"data": [{"secret": SECRET}], "next_cursor": None}
    assert answer.headers["Cache-Control"] == "no-store"


def test_rotating_and_retiring_answer_with_what_is_active_then(api):
    rotated = api.post("/v1/secrets:rotate")
    assert rotated.status == 200
    assert rotated.headers["Cache-Control"] == "no-store"
    assert rotated.json["data"] == [{"secret": NEWER}, {"secret": SECRET}]
    assert api.get("/v1/secrets").json == rotated.json
    retired = api.post("/v1/secrets:retire")
    assert retired.status == 200
    assert retired.json == {"data": [{"secret": NEWER}], "next_cursor": None}


def test_what_cannot_be_now_is_a_conflict(api):
    retired = api.post("/v1/secrets:retire")
    assert (retired.status, retired.problem["detail"]) == (409, "rotate first")
    api.post("/v1/secrets:rotate")
    assert api.post("/v1/secrets:rotate").status == 409


def test_neither_takes_members(api, engine):
    for call in ("rotate", "retire"):
        answer = api.post(f"/v1/secrets:{call}", json={"version": 7})
        assert (answer.status, list(answer.faults)) == (422, ["/version"])
    assert engine.secrets.active == [SECRET]
