"""`sweepgate pareto`: exit codes, messages and the plot."""

from __future__ import annotations

import io
import json
from xml.etree import ElementTree

import pytest

from app.cli import main

CURVES = [{"key": "a & <b>\x08", "points": [{"x": n, "y": n, "label": f"c{n}"} for n in range(1, 7)] + [{"x": "a"}]}]


def test_reads_a_file_and_prints_one_json_list(tmp_path, capsys):
    path = tmp_path / "curves.json"
    path.write_text(json.dumps(CURVES))
    assert main(["pareto", str(path)]) == 0
    out = json.loads(capsys.readouterr().out)
    assert [(c["status"], c["frontier_points"], c["invalid_points"]) for c in out] == [("WARN", 6, 1)]


def test_reads_stdin(monkeypatch, capsys):
    class Standard:
        buffer = io.BytesIO(json.dumps(CURVES).encode())

    monkeypatch.setattr("sys.stdin", Standard)
    assert main(["pareto", "-"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["measured_points"] == 7


def test_plot_is_well_formed_and_escaped(tmp_path, capsys):
    path, plot = tmp_path / "curves.json", tmp_path / "out.svg"
    path.write_text(json.dumps([*CURVES, {"key": "none", "points": []}]))
    assert main(["pareto", str(path), "--plot", str(plot)]) == 0
    root = ElementTree.fromstring(plot.read_text(encoding="utf-8"))
    space = "{http://www.w3.org/2000/svg}"
    assert len(list(root.iter(f"{space}polyline"))) == 1
    assert len(list(root.iter(f"{space}circle"))) == 12
    assert "no point to draw" in plot.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        ("[]", 1, "at least one curve"),
        ('[{"key": "", "points": []}]', 1, "not empty"),
        ("{", 2, ":1:2: this is not JSON"),
        ("[" * 100_000, 2, "not JSON"),
    ],
    ids=["no curve", "empty key", "broken JSON", "too deep"],
)
def test_rejected_and_unreadable_inputs(tmp_path, capsys, content, code, message):
    path = tmp_path / "curves.json"
    path.write_text(content)
    assert main(["pareto", str(path)]) == code
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


def test_a_missing_file_and_a_place_that_cannot_be_written(tmp_path, capsys):
    assert main(["pareto", str(tmp_path / "absent.json")]) == 2
    path = tmp_path / "curves.json"
    path.write_text(json.dumps(CURVES))
    assert main(["pareto", str(path), "--plot", str(tmp_path / "no" / "out.svg")]) == 2
    assert "can be written" in capsys.readouterr().err


def test_usage_is_exit_2(capsys):
    assert main(["pareto"]) == 2
