"""Output in notebooks: tables with unchanged names, a progress bar, the whole tutorial."""

from __future__ import annotations

import io
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import fabricsim

TUTORIAL = Path(__file__).parents[2] / "examples/tutorial.ipynb"
EVIL = "<script>alert('x')</script> & \"quotes\""


class Balanced(HTMLParser):
    """Checks that every opened element is closed, and collects the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(page: str) -> Balanced:
    parser = Balanced()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser


@pytest.fixture
def evil(traffic: dict[str, Any]) -> fabricsim.Experiment:
    traffic["job"][0]["name"] = EVIL
    return fabricsim.Experiment.from_dict(traffic)


def test_an_experiment_shows_names_as_they_are(evil: fabricsim.Experiment) -> None:
    found = read(evil._repr_html_())
    assert "script" not in found.seen
    assert found.text.count(EVIL) >= 1
    assert "torus (sizes = [4, 4])" in found.text
    assert "traffic uniform (load = 0.2)" in found.text
    assert "100 Gbps, 50 ns" in found.text


def test_an_experiment_shows_what_differs_from_the_defaults(traffic: dict[str, Any]) -> None:
    network = traffic["network"]
    network["routing"] = {**network["routing"]}
    network |= {
        "links": {"injection": {"buffer": "64 KiB", "router_delay": "40 ns"}},
        "router": {"credit_delay": "5 ns"},
        "nic_injection_delay": "90 ns",
        "packet_header": "16 B",
    }
    traffic["job"][0]["traffic"] |= {"arrival": "fixed", "phase": "zero"}
    traffic["job"].append(
        {"name": "steps", "workload": {"motif": "phases", "phases": [{"collective": "barrier"}]}}
    )
    traffic["run"] = {**traffic["run"], "drain": "10 us"}
    traffic["collect"] = {"host_latency": True}
    found = read(fabricsim.Experiment.from_dict(traffic)._repr_html_())
    for setting in (
        "injection: buffer = 64 KiB, router_delay = 40 ns",
        "credit_delay = 5 ns",
        "nic_injection_delay = 90 ns",
        "packet_header = 16 B",
        "arrival = fixed, phase = zero",
        "motif phases (phases = [{ collective = barrier }])",
        "drain = 10 us",
        "host_latency = true",
    ):
        assert setting in found.text, setting


def test_an_experiment_that_is_none_shows_itself_all_the_same() -> None:
    strange = fabricsim.Experiment(network={"topology": EVIL, "link": 3}, jobs=[{"workload": 7}])
    found = read(strange._repr_html_())
    assert "script" not in found.seen


def test_a_check_shows_itself(evil: fabricsim.Experiment) -> None:
    checked = fabricsim.check(evil)
    found = read(checked._repr_html_())
    assert "script" not in found.seen
    assert EVIL in found.text
    assert "free of deadlocks" in found.text and "MiB" in found.text
    assert str(checked) in found.text


def test_a_result_shows_itself(evil: fabricsim.Experiment, tmp_path: Path) -> None:
    result = fabricsim.run(evil, out=tmp_path / "<b>out</b>")
    found = read(result._repr_html_())
    assert "script" not in found.seen
    assert EVIL in found.text and "<b>out</b>" in found.text
    assert "links" in found.text and result.digest[:12] in found.text


def test_a_drained_result_shows_the_wait_at_the_source_apart(traffic: dict[str, Any]) -> None:
    plain = read(fabricsim.run(traffic)._repr_html_())
    assert "wait at the source" not in plain.text
    result = fabricsim.run({**traffic, "run": {**traffic["run"], "drain": "20 us"}})
    network = result.summary.network
    found = read(result._repr_html_())
    assert f"{network.mean_network_latency_ns:.6g} ns mean in the network" in found.text
    assert f"{network.source_wait_ns.mean:.6g} ns mean wait at the source" in found.text
    assert "network latency (ns)" in found.text and "wait at the source (ns)" in found.text


# Progress


def test_a_bar_moves_and_ends_where_the_run_ends(
    traffic: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    fabricsim.run(traffic, progress=True)
    told = capsys.readouterr().err
    assert "simulated" in told
    assert re.search(r"20\.0( of 20\.0)? us", told), told


def test_without_it_nothing_is_written(traffic: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    fabricsim.run(traffic)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_a_bar_begins_again_with_the_next_run(capsys: pytest.CaptureFixture[str]) -> None:
    with fabricsim.Bar("both") as bar:
        for now in (1e3, 5e3, 9e3, 2e3, 10e3):
            bar(now, 10e3)
    told = capsys.readouterr().err
    assert "both: 100 %" in told
    assert "10.0 of 10.0 us" in told


def test_a_bar_without_an_end_counts(capsys: pytest.CaptureFixture[str]) -> None:
    bar = fabricsim.Bar()
    bar(3e3, None)
    bar.finish(7e3)
    assert "7.0 us" in capsys.readouterr().err


def test_a_bar_is_closed_when_the_run_fails(endless: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []

    class Stopping(fabricsim.Bar):
        def __call__(self, now_ns: float, end_ns: float | None) -> None:
            super().__call__(now_ns, end_ns)
            raise RuntimeError("enough")

        def close(self) -> None:
            closed.append(True)
            super().close()

    monkeypatch.setattr("fabricsim.simulate.Bar", Stopping)
    with pytest.raises(RuntimeError, match="enough"):
        fabricsim.run(endless, progress=True)
    assert closed


# The tutorial


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The tutorial after its cells have run, in a temporary folder."""
    if not TUTORIAL.is_file():
        pytest.skip("the examples are not here")
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(TUTORIAL, as_version=4)
    folder = tmp_path_factory.mktemp("tutorial")
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.km = client.create_kernel_manager()
    # This interpreter, independent of the machine's kernels.
    client.km.kernel_spec.argv[0] = sys.executable
    client.execute()
    return notebook


def outputs(notebook: Any) -> list[dict[str, Any]]:
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def test_the_tutorial_is_stored_without_outputs() -> None:
    if not TUTORIAL.is_file():
        pytest.skip("the examples are not here")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(TUTORIAL, as_version=4)
    nbformat.validate(notebook)
    assert outputs(notebook) == []
    assert all(cell.get("execution_count") is None for cell in notebook.cells)
    assert TUTORIAL.stat().st_size < 50_000


def test_the_tutorial_runs_and_shows_tables_and_figures(executed: Any) -> None:
    shown = [output.get("data", {}) for output in outputs(executed)]
    assert not [output for output in outputs(executed) if output["output_type"] == "error"]
    pictures = [data["image/png"] for data in shown if "image/png" in data]
    assert len(pictures) >= 7
    assert all(len(picture) > 4000 for picture in pictures)
    assert any("application/vnd.plotly.v1+json" in data for data in shown)
    assert sum("<table" in "".join(data.get("text/html", "")) for data in shown) >= 3


def test_the_tutorial_warns_of_nothing(executed: Any) -> None:
    told = io.StringIO()
    for output in outputs(executed):
        if output["output_type"] == "stream" and output["name"] == "stderr":
            told.write(output["text"])
    assert "Warning" not in told.getvalue()
