"""What a worker says about its machine when it starts."""

import logging

from evaluator.programs import Layer, Support, WorkerError
from gpu_jobs import __main__ as program


def said(caplog):
    return [(record.levelname, record.getMessage()) for record in caplog.records if record.name == "gpu_jobs"]


def test_the_layers_of_this_machine_are_told(caplog):
    caplog.set_level(logging.INFO)
    program.report_programs()
    [(level, line)] = said(caplog)
    assert level == "INFO"
    assert line.startswith("Programs are confined by: ")
    assert "language" in line


def test_a_machine_that_confines_nothing_is_warned_about(caplog, monkeypatch):
    lacking = Support(layers=frozenset({Layer.LANGUAGE, Layer.LIMITS}), missing={Layer.SECCOMP: "no libseccomp"})
    monkeypatch.setattr(program, "support", lambda: lacking)
    program.report_programs()
    [(level, line)] = said(caplog)
    assert level == "WARNING"
    assert "seccomp (no libseccomp)" in line
    assert "cannot keep programs from files, the network, other processes" in line


def test_a_machine_where_programs_do_not_start_is_warned_about(caplog, monkeypatch):
    def fails():
        raise WorkerError("it ended at once")

    monkeypatch.setattr(program, "support", fails)
    program.report_programs()
    assert said(caplog) == [("WARNING", "Programs cannot run here: it ended at once")]
