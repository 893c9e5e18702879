"""Output of ``fabricsim export``, read by the libraries of its formats."""

from __future__ import annotations

import csv
import subprocess
import sys
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import networkx
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2

import fabricsim


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An exchange beside traffic on a torus with parallel cables, with all collected data."""
    folder = tmp_path_factory.mktemp("export") / "result"
    result = fabricsim.run(
        {
            "network": {
                "topology": {"kind": "torus", "sizes": [2, 4]},
                "routing": {"algorithm": "dimension-order"},
                "link": {"bandwidth": "100 Gbps", "latency": "50 ns"},
                "packet": "256 B",
            },
            "job": [
                {
                    "name": "exchange",
                    "workload": {"motif": "all-to-all", "ranks": 6, "bytes": "4 KiB", "compute": "1 us"},
                },
                {"name": "noise", "traffic": {"pattern": "uniform", "load": 0.2}},
            ],
            "run": {"until": "100 us"},
            "collect": {"series": "vcs", "timeline": True, "waits": True},
        },
        out=folder,
    )
    fabricsim.explain(result)
    return folder


def export(folder: Path, *arguments: str) -> Path:
    """Runs the command; returns the written file."""
    line = [sys.executable, "-m", "fabricsim", "export", str(folder), *arguments]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


def rows(folder: Path, table: str) -> list[dict[str, Any]]:
    return pyarrow.parquet.read_table(folder / f"{table}.parquet").to_pylist()


class Perfetto:
    """A trace in Perfetto's own messages, read as its viewer reads it."""

    def __init__(self, file: Path) -> None:
        trace = perfetto_trace_pb2.Trace.FromString(file.read_bytes())
        self.tracks: dict[int, Any] = {}
        self.names: dict[str, dict[int, str]] = defaultdict(dict)
        for packet in trace.packet:
            assert packet.trusted_packet_sequence_id == 1
            if packet.HasField("track_descriptor"):
                self.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
            for field, entries in packet.interned_data.ListFields():
                for entry in entries:
                    text = entry.str.decode() if hasattr(entry, "str") else entry.name
                    self.names[field.name][entry.iid] = text
        events = [packet for packet in trace.packet if packet.HasField("track_event")]
        # Stable: simultaneous events keep the order of the file.
        events.sort(key=lambda packet: packet.timestamp)
        self.slices: list[tuple[str, str, int, int, dict[str, Any]]] = []
        self.flows: dict[int, list[tuple[str, int, dict[str, Any]]]] = defaultdict(list)
        self.curves: dict[str, list[tuple[int, float]]] = defaultdict(list)
        open_slices: dict[int, list[tuple[str, int, dict[str, Any]]]] = defaultdict(list)
        kinds = perfetto_trace_pb2.TrackEvent
        for packet in events:
            event, at = packet.track_event, packet.timestamp
            name = self.names["event_names"].get(event.name_iid, "")
            track, stack = self.name(event.track_uuid), open_slices[event.track_uuid]
            for flow in [*event.flow_ids, *event.terminating_flow_ids]:
                self.flows[flow].append((track, at, self.told(event)))
            if event.type == kinds.TYPE_SLICE_BEGIN:
                stack.append((name, at, self.told(event)))
            elif event.type == kinds.TYPE_SLICE_END:
                begun, begin, told = stack.pop()
                self.slices.append((track, begun, begin, at, told))
            else:
                assert event.type == kinds.TYPE_COUNTER
                self.curves[track].append((at, event.double_counter_value))
        assert not any(open_slices.values())

    def name(self, uuid: int) -> str:
        """A track with its parent tracks."""
        track = self.tracks[uuid]
        if track.HasField("process"):
            return track.process.process_name
        if track.HasField("thread"):
            processes = {it.process.pid: it.process.process_name for it in self.tracks.values()}
            return f"{processes[track.thread.pid]}/{track.thread.thread_name}"
        return f"{self.name(track.parent_uuid)}/{track.name}" if track.parent_uuid else track.name

    def told(self, event: Any) -> dict[str, Any]:
        words = self.names["debug_annotation_string_values"]
        found = {}
        for told in event.debug_annotations:
            value = getattr(told, told.WhichOneof("value"))
            if told.WhichOneof("value") == "string_value_iid":
                value = words[value]
            found[self.names["debug_annotation_names"][told.name_iid]] = value
        return found


@pytest.fixture(scope="module")
def trace(folder: Path) -> Perfetto:
    return Perfetto(export(folder, "--format", "perfetto"))


def test_perfetto_has_each_row_of_the_timeline(folder: Path, trace: Perfetto) -> None:
    hosts = {row["rank"]: row["host"] for row in rows(folder, "ranks")}
    expected = defaultdict(list)
    for row in rows(folder, "timeline"):
        track = f"exchange/rank {row['rank']} on host {hosts[row['rank']]}"
        span = (row["begin_ps"] // 1000, row["end_ps"] // 1000)
        if row["blocked"]:
            expected[track].append(("waiting", *span))
        expected[track].append((row["state"], *span))
    assert len(expected) == 6
    assert any(name == "waiting" for name, _, _ in sum(expected.values(), []))
    for track, slices in expected.items():
        shown = [(name, begin, end) for of, name, begin, end, _ in trace.slices if of == track]
        assert [slice for slice in shown if " rank " not in slice[0]] == slices


def test_perfetto_has_each_message(folder: Path, trace: Perfetto) -> None:
    messages = rows(folder, "messages")
    assert len(trace.flows) == len(messages) > 0
    for number, row in enumerate(messages, start=1):
        (sender, begin, told), (receiver, end, _) = trace.flows[number]
        assert sender == f"exchange/rank {row['from_rank']} on host {row['from_host']}"
        assert receiver == f"exchange/rank {row['to_rank']} on host {row['to_host']}"
        assert (begin, end) == (row["sent_ps"] // 1000, row["matched_ps"] // 1000)
        assert told["bytes"] == row["bytes"] and told["protocol"] == row["protocol"]
        assert told.get("tag") == row["tag"] and told.get("collective") == row["collective"]


def test_perfetto_curves_add_up(folder: Path, trace: Perfetto) -> None:
    carried: dict[str, int] = defaultdict(int)
    for row in rows(folder, "class_series"):
        carried[row["class"]] += row["bytes"]
    for name, amount in carried.items():
        curve = trace.curves[f"network/{name} links: throughput (Gb/s)"]
        area = sum((curve[i + 1][0] - at) * value for i, (at, value) in enumerate(curve[:-1]))
        # Bits in a nanosecond; the bins of 781.25 ns begin up to a nanosecond earlier.
        assert area / 8 == pytest.approx(amount, rel=2e-3)
        assert curve[-1][1] == 0
    links = {name.split("/")[2] for name in trace.curves if name.startswith("network/busiest links/")}
    assert len(links) == 16
    assert trace.curves["exchange/ranks finished (ranks)"][-1][1] == 6


def test_perfetto_has_the_critical_path(folder: Path, trace: Perfetto) -> None:
    steps = [
        (row["kind"], row["begin_ps"] // 1000, row["end_ps"] // 1000) for row in rows(folder, "critical_path")
    ]
    slices = [slice for slice in trace.slices if slice[0] == "exchange/critical path"]
    assert [(name.split(",")[0], begin, end) for _, name, begin, end, _ in slices] == steps


def test_graphml_opens_in_networkx(folder: Path) -> None:
    graph = networkx.read_graphml(export(folder, "--format", "graphml"))
    assert isinstance(graph, networkx.MultiDiGraph)
    links, routers = rows(folder, "links"), rows(folder, "routers")
    assert graph.number_of_edges() == len(links)
    assert graph.number_of_nodes() == len(routers) + len(rows(folder, "hosts"))
    edges = {key: (source, target, data) for source, target, key, data in graph.edges(keys=True, data=True)}
    for link in links:
        source, target, data = edges[f"l{link['link']}"]
        assert source == f"{link['from_kind'][0]}{link['from_id']}"
        assert target == f"{link['to_kind'][0]}{link['to_id']}"
        for column in (
            "class",
            "from_port",
            "to_port",
            "bandwidth_bits_per_s",
            "latency_ps",
            "bytes",
            "packets",
            "busy_ps",
            "busy_fraction",
            "buffer_full_ps",
        ):
            assert data[column] == link[column]
    for router in routers:
        data = graph.nodes[f"r{router['router']}"]
        assert data["kind"] == "router" and data["label"] == router["label"]
        assert (data["x"] / 1000, 1 - data["y"] / 1000) == pytest.approx((router["x"], router["y"]), abs=1e-5)
        leaving = [link for link in links if link["from_kind"] == "router"]
        sent = sum(link["packets"] for link in leaving if link["from_id"] == router["router"])
        assert data["packets_sent"] == sent


def test_csv_holds_every_cell(folder: Path) -> None:
    out = export(folder, "--format", "csv")
    tables = sorted(folder.glob("*.parquet"))
    assert sorted(path.stem for path in out.iterdir()) == [path.stem for path in tables]
    for path in tables:
        table = pyarrow.parquet.read_table(path)
        types = {
            field.name: field.type.value_type if pyarrow.types.is_dictionary(field.type) else field.type
            for field in table.schema
        }
        options = pyarrow.csv.ConvertOptions(column_types=types, strings_can_be_null=True, null_values=[""])
        read = pyarrow.csv.read_csv(out / f"{path.stem}.csv", convert_options=options)
        assert read.to_pylist() == table.to_pylist(), path.stem
    one = export(folder, "--format", "csv", "--table", "links")
    assert one.read_bytes() == (out / "links.csv").read_bytes()
    assert b"\r\n" in one.read_bytes()
    with one.open(newline="") as file:
        assert len(list(csv.reader(file, strict=True))) == len(rows(folder, "links")) + 1


def test_python_exports_as_the_command_does(folder: Path, tmp_path: Path) -> None:
    result = fabricsim.load(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        written = fabricsim.export(result, "perfetto", tmp_path / "a.pftrace", links=3)
    assert written == tmp_path / "a.pftrace"
    links = {name.split("/")[2] for name in Perfetto(written).curves if "busiest" in name}
    assert len(links) == 3
    assert (
        fabricsim.export(folder, "csv", tmp_path / "a.csv", table="jobs").read_text().startswith("job,kind,")
    )
    with pytest.raises(ValueError, match="no format 'png'; there are: csv, graphml, .*perfetto"):
        fabricsim.export(result, "png", tmp_path / "a.png")
    with pytest.raises(fabricsim.ResultError, match="no table of this name"):
        fabricsim.export(result, "csv", tmp_path / "b.csv", table="link")


def test_what_is_not_in_an_export_is_a_warning(result: fabricsim.Result, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"without what ranks did: .*collect\.timeline=true"):
        fabricsim.export(result, "perfetto", tmp_path / "a.pftrace")
