"""The scheduler: order, results, failures, what is done again and what is not, and how it ends when it is stopped."""

from __future__ import annotations

import json
import operator
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from zh_elmo import files
from zh_elmo.suite.jobs import Job, fingerprint, run

# Job functions are those of the standard library and the package: a worker cannot import a test.


def written(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines() if path.exists() else []


def note(log: Path, text: str) -> tuple[object, ...]:
    """Arguments with which subprocess.call adds a line to `log`."""
    code = f"open({str(log)!r}, 'a').write({text!r} + '\\n')"
    return ([sys.executable, "-S", "-c", code],)


def test_results_come_in_the_order_of_needs_and_failures_stop_only_what_needs_them(tmp_path: Path) -> None:
    log = tmp_path / "log"
    jobs = [
        Job("first", subprocess.call, note(log, "first")),
        Job("broken", operator.truediv, (1, 0)),
        Job("second", subprocess.call, note(log, "second"), needs=("first",)),
        Job("after broken", subprocess.call, note(log, "never"), needs=("broken",)),
        Job("after that", subprocess.call, note(log, "never"), needs=("first", "after broken")),
        Job("bad input", files.existing, (str(tmp_path / "nothing"), "model")),
        Job("died", os._exit, (3,)),
        Job("sum", operator.add, (1, 2), needs=("second",)),
    ]
    outcome = run(jobs, 2, records=tmp_path / "jobs", quiet=True)
    assert written(log) == ["first", "second"]
    assert outcome.results == {"first": 0, "second": 0, "sum": 3}
    assert outcome.failures == {
        "broken": "ZeroDivisionError: division by zero",
        "after broken": "not run, since it needs broken",
        "after that": "not run, since it needs after broken",
        "bad input": f"{tmp_path / 'nothing'}: no such model",
        "died": "its process ended before the job did (exit code 3)",
    }
    assert "Traceback" in (tmp_path / "jobs" / "broken.error.txt").read_text("utf-8")


def test_two_workers_work_at_the_same_time_and_a_job_of_two_threads_alone(tmp_path: Path) -> None:
    """a waits until b has begun, which only another process can bring about; c needs both cores."""
    flag, log = tmp_path / "flag", tmp_path / "log"
    wait = f"import os, time\nwhile not os.path.exists({str(flag)!r}): time.sleep(0.01)\n"
    end = "time.sleep(0.2)\nopen({!r}, 'a').write('{} ended\\n')"
    jobs = [
        Job("a", subprocess.call, ([sys.executable, "-S", "-c", wait + end.format(str(log), "a")],)),
        Job("c", subprocess.call, note(log, "c"), threads=2),
        Job("b", subprocess.call, ([sys.executable, "-S", "-c", f"open({str(flag)!r}, 'w')"],)),
    ]
    assert not run(jobs, 2, quiet=True).failures
    assert written(log) == ["a ended", "c"]


def test_what_is_done_is_not_done_again_unless_key_needs_or_outputs_changed(tmp_path: Path) -> None:
    log, output, records = tmp_path / "log", tmp_path / "output", tmp_path / "jobs"

    def jobs(key: int) -> list[Job]:
        return [
            Job("a", subprocess.call, note(log, "a"), key=key),
            Job("b", subprocess.call, note(log, "b"), needs=("a",), key=0),
            Job("c", subprocess.call, note(log, "c"), key=0, outputs=(output,)),
            Job("always", subprocess.call, note(log, "always")),
        ]

    output.touch()
    assert run(jobs(1), 1, records=records, quiet=True).reused == []
    assert written(log) == ["a", "b", "c", "always"]
    outcome = run(jobs(1), 1, records=records, quiet=True)
    assert (outcome.reused, outcome.results) == (["a", "b", "c"], {"a": 0, "b": 0, "c": 0, "always": 0})
    output.unlink()
    run(jobs(1), 1, records=records, quiet=True)
    assert written(log)[4:] == ["always", "c", "always"]
    assert run(jobs(2), 1, records=records, quiet=True).reused == []
    assert written(log)[7:] == ["a", "b", "c", "always"]


def test_half_done_work_is_kept_for_the_same_key_and_removed_for_another(tmp_path: Path) -> None:
    records, folder = tmp_path / "jobs", tmp_path / "work"
    failing = ([sys.executable, "-c", "raise SystemExit(1)"],)
    job = Job("a", subprocess.check_call, failing, key=1, folder=folder)
    assert "a" in run([job], 1, records=records, quiet=True).failures
    folder.mkdir()
    (folder / "checkpoint").touch()
    run([job], 1, records=records, quiet=True)
    assert (folder / "checkpoint").exists()
    run([job._replace(key=2)], 1, records=records, quiet=True)
    assert not folder.exists()


def test_a_damaged_record_means_only_that_the_job_runs_again(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{", "utf-8")
    outcome = run([Job("a", operator.add, (1, 1), key=1)], 1, records=tmp_path, quiet=True)
    assert (outcome.results, outcome.reused) == ({"a": 2}, [])


def test_a_result_that_json_cannot_hold_is_a_failure_of_its_job() -> None:
    assert run([Job("a", complex, (1, 2))], 1, quiet=True).failures["a"].startswith("TypeError")


def test_a_fingerprint_hangs_on_function_key_and_needs() -> None:
    one = Job("one", operator.add, (1, 1), key={"a": 1})
    assert fingerprint(one, {}) == fingerprint(one._replace(arguments=(2, 2)), {}) != ""
    assert fingerprint(one, {}) != fingerprint(one._replace(key={"a": 2}), {})
    assert fingerprint(one, {}) != fingerprint(one._replace(function=operator.sub), {})
    two = Job("two", operator.add, (1, 1), key=1, needs=("one",))
    assert fingerprint(two, {"one": "x"}) != fingerprint(two, {"one": "y"})
    assert fingerprint(two, {"one": ""}) == fingerprint(one._replace(key=None), {}) == ""


@pytest.mark.parametrize(
    "jobs",
    [
        [Job("a", operator.add), Job("a", operator.add)],
        [Job("a", operator.add, needs=("b",)), Job("b", operator.add)],
        [Job("a", operator.add, needs=("nobody",))],
    ],
)
def test_a_graph_that_is_none_is_refused(jobs: list[Job]) -> None:
    with pytest.raises(ValueError, match="job a"):
        run(jobs, 1, quiet=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_by_a_signal_it_keeps_what_is_done_and_leaves_no_process(
    tmp_path: Path, number: signal.Signals
) -> None:
    script = f"""
import os, sys, time
from pathlib import Path
from zh_elmo.suite.jobs import Job, run
if __name__ == "__main__":
    jobs = [Job("quick", os.getpid, key=1), Job("slow", time.sleep, (60,), key=1)]
    try:
        run(jobs, 2, records=Path({str(tmp_path)!r}))
    except KeyboardInterrupt:
        sys.exit(130)
"""
    path = tmp_path / "script.py"
    path.write_text(script, "utf-8")
    process = subprocess.Popen([sys.executable, path], stderr=subprocess.PIPE, text=True, env=package_on_path())
    try:
        worker = wait_for_result(tmp_path / "quick.json", tmp_path / "slow.json")
        process.send_signal(number)
        assert process.wait(20) == 130
    finally:
        process.kill()
    assert json.loads((tmp_path / "slow.json").read_text("utf-8"))["state"] == "begun"
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)
    assert "Traceback" not in process.stderr.read()


def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    script = f"""
import os, time
from pathlib import Path
from zh_elmo.suite.jobs import Job, run
if __name__ == "__main__":
    run([Job("quick", os.getpid), Job("slow", time.sleep, (60,), needs=("quick",))], 1, records=Path({str(tmp_path)!r}))
"""
    path = tmp_path / "script.py"
    path.write_text(script, "utf-8")
    process = subprocess.Popen([sys.executable, path], stderr=subprocess.DEVNULL, env=package_on_path())
    worker = wait_for_result(tmp_path / "quick.json", tmp_path / "slow.json")
    process.kill()
    process.wait()
    until = time.monotonic() + 20
    while is_running(worker):
        assert time.monotonic() < until, "the worker lives on"
        time.sleep(0.05)


def wait_for_result(done: Path, begun: Path) -> int:
    """The process id that the job of `done` gave, once the other job has begun too."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if done.exists() and begun.exists():
            record = json.loads(done.read_text("utf-8"))
            if record["state"] == "done":
                time.sleep(0.3)  # what began a moment ago is in its call by now
                return int(record["result"])
        time.sleep(0.02)
    raise AssertionError("the jobs did not begin")


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{process}/stat")
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")


def package_on_path() -> dict[str, str]:
    root = str(Path(files.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}
