"""What a container's call is outside of its pod; the rest is shown through whole manifests."""

import pytest

from engine.imports.kubernetes_jobs import read_work


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("web", {"web is a Service of its namespace; elsewhere it is web.NAMESPACE.svc"}),
        ("localhost:80", {"localhost was the pod itself; here it is the engine's machine"}),
        ("[::1]:80", {"::1 was the pod itself; here it is the engine's machine"}),
        ("web.n1.svc", set()),
        ("[2001:db8::1]", set()),
    ],
)
def test_a_host_that_is_another_outside_of_its_pod_is_noted(host: str, said: set[str]):
    container = {"command": ["curl", "-g", f"http://{host}/tick"]}
    work = read_work({"template": {"spec": {"containers": [container]}}}, target=None)
    assert work.target["url"] == f"http://{host}/tick"
    assert {note for note in work.notes if "backoffLimit" not in note} == said
