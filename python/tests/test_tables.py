"""Copies and reads of tables: addresses, allocations, row groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.dataset
import pyarrow.parquet
import pytest
import recorded
from unverified import unverified

import fabricsim


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> fabricsim.Result:
    """A small run with an additional table of a million rows in ten row groups, like streamed tables."""
    folder = tmp_path_factory.mktemp("large") / "result"
    fabricsim.run(
        {
            "network": {
                "topology": {"kind": "torus", "sizes": [3, 3]},
                "routing": {"algorithm": "dimension-order"},
            },
            "job": [{"traffic": {"pattern": "uniform", "load": 0.1}}],
            "run": {"until": "5 us"},
        },
        out=folder,
    )
    unverified(folder)
    rows = 1_000_000
    link_series = pyarrow.table(
        {
            "begin_ps": pyarrow.array(range(rows), recorded.U64),
            "link": pyarrow.array([number % 97 for number in range(rows)], recorded.U32),
            "bytes": pyarrow.array([3] * rows, recorded.U64),
        }
    )
    pyarrow.parquet.write_table(link_series, folder / "link_series.parquet", row_group_size=100_000)
    return fabricsim.load(folder)


def addresses(column: pyarrow.ChunkedArray) -> list[int]:
    """The address of a column's values in memory."""
    return [chunk.buffers()[1].address for chunk in column.chunks]


def test_a_table_that_is_not_there_is_named_with_what_makes_it(large: fabricsim.Result) -> None:
    for ask in (large.tables.path, large.tables.dataset, large.tables.mapped):
        with pytest.raises(fabricsim.ResultError, match="no table 'timeline'; it has: .*timeline = true"):
            ask("timeline")


def test_a_run_under_way_is_no_result(tmp_path: Path) -> None:
    (tmp_path / "RUNNING.json").write_text("{}")
    with pytest.raises(fabricsim.ResultError, match="under way or was killed"):
        fabricsim.load(tmp_path)


def test_the_result_before_a_run_under_way_is_told_apart(tmp_path: Path, traffic: dict[str, Any]) -> None:
    first = fabricsim.run(traffic, out=tmp_path / "result")
    (first.folder / "RUNNING.json").write_text("{}")
    with pytest.warns(UserWarning, match="this is the result before it"):
        assert fabricsim.load(first.folder).digest == first.digest


def test_polars_takes_a_table_without_a_copy(large: fabricsim.Result) -> None:
    polars = pytest.importorskip("polars")
    table = large.tables["link_series"]
    frame = polars.from_arrow(table)
    assert frame["bytes"].sum() == 3_000_000
    series = [chunk.to_arrow() for chunk in frame["begin_ps"].get_chunks()]
    assert [chunk.buffers()[1].address for chunk in series] == addresses(table["begin_ps"])


def test_pandas_takes_a_table_without_a_copy(large: fabricsim.Result) -> None:
    pandas = pytest.importorskip("pandas")
    table = large.tables["link_series"]
    before = pyarrow.total_allocated_bytes()
    frame = table.to_pandas(types_mapper=pandas.ArrowDtype)
    assert frame["bytes"].sum() == 3_000_000
    assert pyarrow.total_allocated_bytes() - before < 100_000
    inner = pyarrow.chunked_array(pyarrow.Table.from_pandas(frame[["begin_ps"]])["begin_ps"])
    assert addresses(inner) == addresses(table["begin_ps"])


def test_a_mapped_table_stays_on_the_disk(large: fabricsim.Result) -> None:
    whole = large.tables["link_series"]
    large.tables.mapped("link_series")
    before = pyarrow.total_allocated_bytes()
    mapped = large.tables.mapped("link_series")
    assert mapped == whole
    assert mapped.nbytes > 15_000_000
    assert pyarrow.total_allocated_bytes() - before < 100_000
    polars = pytest.importorskip("polars")
    frame = polars.from_arrow(mapped)
    series = [chunk.to_arrow() for chunk in frame["begin_ps"].get_chunks()]
    assert [chunk.buffers()[1].address for chunk in series] == addresses(mapped["begin_ps"])


def test_a_dataset_reads_only_what_is_asked_for(large: fabricsim.Result) -> None:
    series = large.tables.dataset("link_series")
    assert isinstance(series, pyarrow.dataset.Dataset)
    assert series.count_rows() == 1_000_000
    late = pyarrow.dataset.field("begin_ps") >= 950_000
    groups = [len(fragment.row_groups) for fragment in series.get_fragments()]
    assert groups == [10]
    read = [len(part.row_groups) for fragment in series.get_fragments() for part in [fragment.subset(late)]]
    assert read == [1], "the statistics of row groups tell which to leave out"
    batches = list(series.to_batches(columns=["bytes"], filter=late))
    assert sum(batch.num_rows for batch in batches) == 50_000
    assert batches[0].schema.names == ["bytes"]


def test_figures_do_not_keep_streamed_tables(tmp_path: Path, traffic: dict[str, Any]) -> None:
    folder = tmp_path / "result"
    fabricsim.run(traffic, out=folder)
    recorded.write(folder, "noise")
    result = fabricsim.load(folder)
    result.plot.occupancy()
    result.plot.sends_receives()
    assert not {"vc_series", "host_series"} & set(result.tables._read)


def test_an_early_read_of_one_table_leaves_the_others_alone(large: fabricsim.Result) -> None:
    fresh = fabricsim.load(large.folder)
    _ = fresh.jobs
    assert list(fresh.tables._read) == ["jobs"]
    assert fresh.tables.path("links").name == "links.parquet"
