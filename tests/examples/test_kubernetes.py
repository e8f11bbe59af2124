"""The manifests for Kubernetes: its schemas hold, and what belongs together agrees."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import kubernetes_validate
import pytest
import yaml

from engine.core.addresses import read_address
from engine.core.document import read_schedule
from engine.core.egress import Egress
from engine.listening import read_listen
from engine.schedule_files import read_files
from engine.web.application import ROUTES
from tests.examples.settings_of import (
    IMAGE_USER,
    IMAGE_VARIABLES,
    STOP_SECONDS_MIN,
    settings_of,
)

PLACE = Path(__file__).parents[2] / "examples" / "kubernetes"
FILES = sorted(PLACE.glob("*.yaml"))

SIDECARS_SINCE = "1.29"
"""From then on native sidecars are on by default."""

SERVICES = ("10.96.0.1", "10.111.255.254")
"""About the first and the last of a cluster's addresses for services, as kubeadm chooses them."""

EVERY_ADDRESS = "0.0.0.0"

Document = dict[str, Any]


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def manifests(request: pytest.FixtureRequest) -> dict[str, Document]:
    """Those of a file, by kind."""
    return {m["kind"]: m for m in yaml.safe_load_all(request.param.read_text())}


@pytest.fixture
def pod(manifests: dict[str, Document]) -> Document:
    spec: Document = manifests["StatefulSet"]["spec"]["template"]["spec"]
    return spec


@pytest.fixture
def container(pod: Document) -> Document:
    """The engine's."""
    (found,) = (c for c in all_containers(pod) if c["name"] == "offbeat")
    return found


def all_containers(pod: Document) -> list[Document]:
    return [*pod.get("initContainers", []), *pod["containers"]]


def settings(container: Document) -> Any:
    """Of the engine in it; $(NAME) is something that a pod is called."""
    verb, *flags = (re.sub(r"\$\(\w+\)", "app-0", word) for word in container["args"])
    assert verb == "run"
    given = {e["name"]: e["value"] for e in container.get("env", []) if "value" in e}
    return settings_of(flags, IMAGE_VARIABLES | given)


def hears(container: Document, host: str, port: int) -> bool:
    """Whether the engine hears who asks there; the host `pod` is the address that others see."""
    place = read_listen(settings(container).listen)
    return place in ((host, port), (EVERY_ADDRESS, port))


@pytest.mark.parametrize("version", [SIDECARS_SINCE, kubernetes_validate.latest_version()])
def test_kubernetes_finds_no_fault(manifests: dict[str, Document], version: str) -> None:
    for manifest in manifests.values():
        kubernetes_validate.validate(manifest, version, strict=True)


def test_what_the_engine_reads_and_writes_is_mounted(
    manifests: dict[str, Document], pod: Document, container: Document
) -> None:
    config = settings(container)
    mounts = {Path(m["mountPath"]): m["name"] for m in container["volumeMounts"]}
    (claim,) = manifests["StatefulSet"]["spec"]["volumeClaimTemplates"]
    volumes = {v["name"]: v for v in pod["volumes"]}
    assert mounts[config.data_dir] == claim["metadata"]["name"]
    schedules = volumes[mounts[config.schedules]]["configMap"]["name"]
    assert schedules == manifests["ConfigMap"]["metadata"]["name"]
    for file in filter(None, (config.master_key_file, config.admin_key_file)):
        # Root's, and read through the group: engine/secret_file.py takes that and no more.
        assert volumes[mounts[file.parent]]["secret"]["defaultMode"] == 0o440


def test_probes_and_services_ask_where_something_listens(
    manifests: dict[str, Document], pod: Document, container: Document
) -> None:
    paths = {route.path for route in ROUTES}
    for url in probed(container):
        assert url.path in paths
        assert hears(container, url.hostname, url.port)
    assert all(hears(container, "pod", p["containerPort"]) for p in container.get("ports", []))
    named = {p["name"] for c in all_containers(pod) for p in c.get("ports", [])}
    assert {p["targetPort"] for p in manifests["Service"]["spec"]["ports"]} <= named


def probed(container: Document) -> Iterator[Any]:
    for name, probe in container.items():
        if name.endswith("Probe") and "exec" in probe:
            yield urlsplit(re.findall(r"'(http:\S+)'", probe["exec"]["command"][-1])[0])
        elif name.endswith("Probe"):
            asked = probe["httpGet"]
            (port,) = (p for p in container["ports"] if p["name"] == asked["port"])
            yield urlsplit(f"http://pod:{port['containerPort']}{asked['path']}")


def test_the_engine_is_closed_and_has_time_to_stop(pod: Document, container: Document) -> None:
    context = pod["securityContext"] | container["securityContext"]
    assert context["runAsUser"] == context["fsGroup"] == IMAGE_USER
    assert (context["runAsNonRoot"], context["readOnlyRootFilesystem"]) == (True, True)
    assert (context["allowPrivilegeEscalation"], context["capabilities"]) == (
        False,
        {"drop": ["ALL"]},
    )
    assert pod["terminationGracePeriodSeconds"] > STOP_SECONDS_MIN


def test_a_key_that_the_engine_makes_stays_closed_when_the_pod_starts_again(
    pod: Document, container: Document
) -> None:
    if settings(container).master_key_file is None:
        # `Always` would add the group to the modes of the volume's files.
        assert pod["securityContext"]["fsGroupChangePolicy"] == "OnRootMismatch"


def test_its_schedules_can_be_applied(
    manifests: dict[str, Document], pod: Document, tmp_path: Path
) -> None:
    ports = {p["containerPort"] for c in pod["containers"] for p in c["ports"]}
    for name, text in manifests["ConfigMap"]["data"].items():
        (tmp_path / name).write_text(text)
    for document in read_files(tmp_path.iterdir()):
        url = urlsplit(read_schedule(document, tenant="default").definition.target.url)
        assert url.hostname != "127.0.0.1" or url.port in ports


def test_what_its_schedules_call_is_open_to_it(
    manifests: dict[str, Document], container: Document
) -> None:
    config = settings(container)
    egress = Egress(openings=config.egress_allow, private=config.admin_key_file is None)
    text = "\n".join(manifests["ConfigMap"]["data"].values())
    (url,) = map(urlsplit, re.findall(r'url = "(.+)"', text))
    is_service = url.hostname.endswith(".svc.cluster.local")
    for literal in SERVICES if is_service else (url.hostname,):
        address = read_address(literal)
        assert address is not None
        assert egress.refusal(address, url.port or 80) is None


def test_a_sidecar_is_native() -> None:
    manifests = yaml.safe_load_all((PLACE / "sidecar.yaml").read_text())
    (pod,) = (m["spec"]["template"]["spec"] for m in manifests if m["kind"] == "StatefulSet")
    (sidecar,) = pod["initContainers"]
    assert sidecar["restartPolicy"] == "Always"
    assert {"startupProbe", "livenessProbe"} < sidecar.keys(), "the application waits for it"
