"""What the dashboard costs, beside other monitors, on the stand-in driver. Not a test: it prints a table.

    python tests/tools/bench.py [--seconds 30] [--cards 1,8,64] [--peers-path FOLDER] [--only TEXT] [--markdown]

Each program runs in a pseudo-terminal of 120x40 (200x50 for 64 cards) with 256 colours, as SSH gives, one after
another, while all values of all cards move. After ten seconds of warm-up:

    CPU      user and system time of the whole process tree, percent of one core
    bytes/s  written to the terminal
    first    ms from start to the first figure on the screen (the best of three)
    PSS      MiB of the whole tree
    calls    driver calls a refresh and card (every program is asked for a refresh a second)

A C compiler is needed. nvitop, gpustat and nvtop are measured when they are in --peers-path or on PATH, and so is
`watch -n 1 nvidia-smi` (against the stand-in too; where it refuses that, its row is left out and a line says so). Put
peers into an environment of their own: `python -m venv /tmp/peers && /tmp/peers/bin/pip install nvitop gpustat`, then
`--peers-path /tmp/peers/bin`. Compare rows of one run only: machines differ, and what else runs shows. Every process is
gone when the script ends, also when it is interrupted.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.fake_driver.build import build  # noqa: E402
from tests.fake_driver.env import calls, environment  # noqa: E402
from tests.fake_driver.script import Script  # noqa: E402
from tests.pty.harness import Terminal, children_of  # noqa: E402

WARM_S = 10.0
TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Program:
    """What is run, and a text that is on its screen once it shows a figure."""

    name: str
    command: list[str]
    sign: str
    keys: str = ""


@dataclass
class Result:
    """One row."""

    program: str
    cards: int
    cpu_percent: float
    bytes_per_s: float
    first_ms: float
    pss_mib: float
    calls: float


def programs(peers: Path | None, cards: int) -> list[Program]:
    """Ours, and those that are installed."""
    path = os.pathsep.join([*([str(peers)] if peers else []), os.environ.get("PATH", "")])

    def found(name: str) -> str | None:
        return shutil.which(name, path=path)

    ours = [sys.executable, "-m", "gputui"]
    # The maximum of the clock in the cards view, the enforced limit behind the power in the table.
    out = [Program("gputui", ours, "of 1980" if cards <= 8 else "/700")]
    if 1 < cards <= 8:
        out.append(Program("gputui, table", ours, "of 1980", keys="v"))
        out.append(Program("gputui, detail", ours, "of 1980", keys="\r"))
    if name := found("nvitop"):
        out.append(Program("nvitop", [name, "--interval", "1"], "W / 700W"))
    if name := found("gpustat"):
        out.append(Program("gpustat -i 1", [name, "-i", "1", "--force-color"], "H100"))
    if name := found("nvtop"):
        out.append(Program("nvtop", [name], "H100"))
    if (name := found("watch")) and (smi := found("nvidia-smi")):
        out.append(Program("watch -n 1 nvidia-smi", [name, "-n", "1", smi], "MiB"))
    return out


def moving(cards: int) -> Script:
    """H100 cards whose every plotted value is another one at each reading."""
    script = Script("h100", count=cards)
    for card in range(cards):
        script.card(
            card,
            f"nvmlDeviceGetClockInfo(1) = 1300..1980/{15 + card % 7}",
            f"nvmlDeviceGetClockInfo(0) = 1300..1980/{15 + card % 7}",
            f"nvmlDeviceGetPowerUsage = 410000..699000/{9100 + 700 * (card % 5)}",
            f"field 185 u32 = 410000..699000/{9100 + 700 * (card % 5)}",
            f"field 186 u32 = 400000..699000/{8100 + 700 * (card % 5)}",
            f"nvmlDeviceGetTemperature(0) = 44..71/{1 + card % 2}",
            f"nvmlDeviceGetUtilizationRates = 60..100/{3 + card % 3} 41",
        )
    return script


def cpu_seconds(pids: list[int]) -> float:
    """User and system time of these processes so far, with their children that have ended."""
    return sum(_own_cpu_seconds(pid) for pid in pids)


def _own_cpu_seconds(pid: int) -> float:
    folder = Path("/proc", str(pid))
    try:
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        ended = sum(map(int, fields[13:15])) / TICK
        try:  # nanoseconds, where `stat` has hundredths
            return ended + sum(int(file.read_text().split()[0]) for file in folder.glob("task/*/schedstat")) / 1e9
        except FileNotFoundError:
            return ended + sum(map(int, fields[11:13])) / TICK
    except OSError:
        return 0.0


def pss_mib(pids: list[int]) -> float:
    """Proportional set size of these processes together."""
    total = 0
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        total += next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))
    return total / 1024


def first_figure_ms(program: Program, size: tuple[int, int], variables: dict[str, str]) -> float:
    """ms from start to the program's sign on the screen; the 50 ms that the harness waits are taken off."""
    best = []
    for _ in range(3):
        began = time.monotonic()
        terminal = Terminal([], size=size, environment=variables, command=program.command)
        try:
            while program.sign not in terminal.text() and time.monotonic() - began < 20:
                terminal.pump(0.005)
            best.append(1000 * (time.monotonic() - began) - 50)
        finally:
            terminal.close()
    return min(best)


def measure(program: Program, cards: int, seconds: float, folder: Path) -> Result:
    """One program on one host."""
    size = (200, 50) if cards > 8 else (120, 40)
    everything = environment(folder, moving(cards), library=build(folder / "driver"))
    # Only these: the rest would bring this shell's TERM and colours.
    variables = {key: value for key, value in everything.items() if key.startswith(("FAKE_NVML", "LD_LIBRARY"))}
    variables |= {"XDG_STATE_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    first = first_figure_ms(program, size, variables)
    terminal = Terminal([], size=size, environment=variables, command=program.command)
    try:
        terminal.wait_for(program.sign, 20)
        if program.keys:
            terminal.press(program.keys)
        terminal.pump(WARM_S)
        tree = [terminal.pid, *children_of(terminal.pid)]
        before = (cpu_seconds(tree), len(terminal.output), sum_calls(variables), time.monotonic())
        terminal.pump(seconds)
        passed = time.monotonic() - before[3]
        tree = [terminal.pid, *children_of(terminal.pid)]
        return Result(
            program.name,
            cards,
            100 * (cpu_seconds(tree) - before[0]) / passed,
            (len(terminal.output) - before[1]) / passed,
            first,
            pss_mib(tree),
            (sum_calls(variables) - before[2]) / passed / cards,
        )
    finally:
        terminal.close()


def sum_calls(variables: dict[str, str]) -> int:
    """Driver calls so far."""
    return sum(count for name, count in calls(variables).items() if not name.startswith("card "))


def table(results: list[Result], markdown: bool) -> str:
    """The rows as text or Markdown."""
    heading = ["cards", "program", "CPU % of a core", "bytes/s", "first figures ms", "PSS MiB", "calls/refresh/card"]
    rows = [
        [
            str(r.cards),
            r.program,
            f"{r.cpu_percent:.2f}",
            f"{r.bytes_per_s:.0f}",
            f"{r.first_ms:.0f}",
            f"{r.pss_mib:.1f}",
            f"{r.calls:.1f}",
        ]
        for r in results
    ]
    widths = [max(len(row[column]) for row in [heading, *rows]) for column in range(len(heading))]
    edge, gap = ("| ", " | ") if markdown else ("", "  ")

    def line(cells: list[str]) -> str:
        cells = [c.ljust(w) if i == 1 else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True))]
        return edge + gap.join(cells) + (" |" if markdown else "")

    rule = ["|" + "|".join("-" * (width + 2) for width in widths) + "|"] if markdown else []
    return "\n".join([line(heading), *rule, *(line(row) for row in rows)])


def _stop(number: int, _frame: object) -> None:
    sys.exit(128 + number)


def main() -> int:
    """Measure what was asked for, and print it."""
    signal.signal(signal.SIGTERM, _stop)
    parser = argparse.ArgumentParser(description="What the dashboard costs, beside other monitors.")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--cards", default="1,8,64")
    parser.add_argument("--peers-path", type=Path)
    parser.add_argument("--only", help="programs whose name holds this")
    parser.add_argument("--runs", type=int, default=1, help="median of so many runs")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for cards in (int(text) for text in options.cards.split(",")):
            for program in programs(options.peers_path, cards):
                if options.only and options.only not in program.name:
                    continue
                try:
                    runs = [measure(program, cards, options.seconds, Path(folder)) for _ in range(options.runs)]
                except AssertionError as error:
                    print(f"{program.name}, {cards} cards: {str(error)[:200]}", file=sys.stderr)
                    continue
                median = {
                    name: statistics.median(getattr(run, name) for run in runs)
                    for name in ("cpu_percent", "bytes_per_s", "first_ms", "pss_mib", "calls")
                }
                results.append(Result(program.name, cards, **median))
                print(table(results[-1:], False).splitlines()[1], file=sys.stderr, flush=True)
    print(table(results, options.markdown))
    return 0


if __name__ == "__main__":
    sys.exit(main())
