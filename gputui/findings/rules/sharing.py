"""Does somebody else use the card, or is it a slice?

Ours is a process that runs in this container and has the card open, whether the driver lists it or not. Where a process
cannot be looked into, one of ours is open but unlisted, or one began or ended within the window, load and memory cannot
be told apart: then nothing is said.
Own jobs in another container of the same machine look foreign, so load or memory alone is a warning; both together, for
a minute, are a failure.
"""

from __future__ import annotations

from gputui.findings.evidence import Expect
from gputui.findings.registry import HOST, N_, Outcome, rule
from gputui.findings.view import CardView, HostView
from gputui.model.finding import Severity
from gputui.model.reading import number

_KERNEL = ("cgpu", "egpu", "qgpu", "foreign-device-major")
_REMOTE = ("rcuda", "cricket")
_INTERCEPTORS = (
    "hami",
    "vcuda",
    "vgpu-manager",
    "vcuda-hook",
    "nvshare",
    "tensor-fusion",
    "alnair",
    "hcs-interceptor",
    "runai",
    "clearml-fractional",
)


def _slice_severity(expect: Expect, unsaid: Severity) -> Severity:
    """How bad a slice is: as sold, not as sold, or nobody said what was sold."""
    return {Expect.WHOLE: Severity.FAIL, Expect.SLICE: Severity.INFO, Expect.ANY: unsaid}[expect]


def _attributable(card: CardView) -> bool:
    """Whether load and memory on the card can be told apart into ours and others'."""
    if card.is_mig or card.is_vgpu or card.is_unified or card.frame.source == "nvidia-smi":
        return False
    processes = card.processes
    if processes is None or _own_changed(card) or card.number("processes.hidden"):
        return False
    return all(process.here is not None and process.listed for process in processes)


def _own_changed(card: CardView) -> bool:
    """Whether a process of ours began or ended within the window, so that its load and memory are in it."""
    since = card.card.own_changed_s
    return since is not None and since < card.limits["window_s"]


def _foreign_load(card: CardView) -> tuple[float, float] | None:
    """(share of seconds with load, median of that load) while nothing of ours is on the card; None when unknown."""
    if not _attributable(card) or card.own_processes:
        return None
    points = card.series("utilization.gpu", card.limits["window_s"])
    if card.watched_s("utilization.gpu", card.limits["window_s"]) < card.limits["watched_s"]:
        return None
    loaded = sorted(value for _mono, value in points if value >= card.limits["load_percent"])
    return len(loaded) / len(points), loaded[len(loaded) // 2] if loaded else 0.0


def _foreign_memory(card: CardView) -> float | None:
    """MiB that neither we nor the driver hold, the least over the window; None when it cannot be told."""
    if not _attributable(card) or card.text("memory.used.includes_reserved") == "yes":
        return None
    own = [number(process.memory_mib) for process in card.own_processes]
    if any(memory is None for memory in own):
        return None
    points = card.series("memory.used", card.limits["window_s"])
    if card.watched_s("memory.used", card.limits["window_s"]) < card.limits["watched_s"]:
        return None
    return min(value for _mono, value in points) - sum(memory for memory in own if memory is not None)


@rule(
    "busy-without-own-process",
    family="sharing",
    needs_s=30,
    means=N_("The card works although nothing of yours runs on it: somebody else uses it."),
    decided=N_(
        "At least 20 % utilization in at least 30 % of a minute with no process of ours on the card. A failure when "
        "memory is held by others too."
    ),
    could_be=(
        N_("a job of yours in another container of the same machine"),
        N_("a job that you ended a moment ago"),
        N_("a monitoring agent of the host, for a load of a few percent"),
    ),
    action=N_(
        "Make sure nothing of yours runs, watch for a minute more, then ask for an exclusive card with this file."
    ),
    who="host",
    source="NVML utilization and process list; HAMi #1339, nvidia-docker #179 for lists that are empty in containers",
    verify="nvidia-smi dmon -s um -i {gpu} -c 60",
)
def busy_without_own_process(card: CardView) -> Outcome:
    found = _foreign_load(card)
    if found is None:
        return None
    share, load = found
    if share < card.limits["share"]:
        return None
    held = _foreign_memory(card)
    both = held is not None and held > card.limits["memory_mib"]
    long_enough = card.watched_s("utilization.gpu", card.limits["window_s"]) >= 0.9 * card.limits["window_s"]
    severity = Severity.FAIL if both and long_enough else Severity.WARN
    return card.found(
        Severity.INFO if card.expect is Expect.SLICE else severity,
        N_("{load:.0f} % utilization during {percent:.0f} % of the time, and no process of yours is on the card."),
        {
            "utilization.gpu": {"median_when_busy": load, "share_of_time": round(share, 3), "unit": "%"},
            "memory_held_by_others": {"seen": held, "unit": "MiB"},
        },
        load=load,
        percent=100 * share,
    )


@rule(
    "memory-held-by-others",
    family="sharing",
    needs_s=20,
    means=N_("Memory of the card is in use that neither you nor the driver holds."),
    decided=N_("Used memory less our processes' is above 500 MiB for 20 s, with the driver's own reserve left out."),
    could_be=(N_("a job of yours in another container"), N_("a job that crashed and is not cleaned up yet")),
    action=N_("Ask the host who holds it; attach a snapshot."),
    who="host",
    source="NVML memory v2 and process list; HAMi #1339",
    verify="nvidia-smi -q -d MEMORY,PIDS -i {gpu}",
    explained_by=("busy-without-own-process",),
)
def memory_held_by_others(card: CardView) -> Outcome:
    held = _foreign_memory(card)
    if held is None or held <= card.limits["memory_mib"]:
        return None
    return card.found(
        Severity.INFO if card.expect is Expect.SLICE else Severity.WARN,
        N_("{held:.1f} GiB are in use by processes that cannot be seen from here."),
        {"memory_held_by_others": {"seen": round(held, 1), "expected_up_to": card.limits["memory_mib"], "unit": "MiB"}},
        held=held / 1024,
    )


@rule(
    "foreign-process",
    family="sharing",
    means=N_("The driver lists a process on the card that does not exist in this container."),
    decided=N_(
        "A listed PID is not ours, and no process of ours is on the card that it could be under another number."
    ),
    could_be=(N_("a process of yours in another container"), N_("a display server of the host")),
    action=N_("Ask the host what it is."),
    who="host",
    source="NVML process list; nvidia-docker #1483",
    verify="nvidia-smi -i {gpu}",
    explained_by=("busy-without-own-process", "memory-held-by-others"),
)
def foreign_process(card: CardView) -> Outcome:
    processes = card.processes
    if processes is None or card.is_mig or card.frame.source == "nvidia-smi":
        return None
    if _own_changed(card) or card.number("processes.hidden"):
        return None
    foreign = [process for process in processes if process.here is False]
    # Older drivers list our own processes under the host's numbers: one of ours that is open but unlisted may be it.
    if not foreign or any(process.here is None or not process.listed for process in processes):
        return None
    memory = sum(number(process.memory_mib) or 0.0 for process in foreign)
    compute = any("C" in process.type for process in foreign)
    severity = Severity.WARN if compute and memory >= card.limits["memory_mib"] else Severity.INFO
    return card.found(
        Severity.INFO if card.expect is Expect.SLICE else severity,
        N_("{count} processes outside this container use the card ({memory:.0f} MiB)."),
        {"processes": [{"pid": process.pid, "type": process.type} for process in foreign], "memory_mib": memory},
        count=len(foreign),
        memory=memory,
    )


@rule(
    "slice-mig",
    family="sharing",
    means=N_("The card is divided by MIG; you have the instances you see, not the whole card. A legal product."),
    decided=N_("MIG mode is on, or the device is a MIG instance."),
    action=N_("Fine if a slice was sold; otherwise ask for the whole card."),
    who="host",
    source="NVML MIG mode",
    verify="nvidia-smi -L",
)
def slice_mig(card: CardView) -> Outcome:
    if not card.is_mig:
        return None
    return card.found(
        _slice_severity(card.expect, Severity.INFO),
        N_("The card is divided by MIG; {count} instances can be seen."),
        {"mig.mode.current": card.text("mig.mode.current"), "instances": [device.name for device in card.card.mig]},
        count=len(card.card.mig),
    )


@rule(
    "slice-vgpu",
    family="sharing",
    means=N_("This is a virtual GPU: a part of a card, shared by the hypervisor. A legal product."),
    decided=N_("The virtualization mode is vGPU. Pass-through is a whole card and is fine."),
    action=N_("Fine if a slice was sold; otherwise ask for the whole card."),
    who="host",
    source="nvmlDeviceGetVirtualizationMode",
    verify="nvidia-smi -q -i {gpu} | grep -A3 Virtualization",
)
def slice_vgpu(card: CardView) -> Outcome:
    if not card.is_vgpu:
        return None
    return card.found(
        _slice_severity(card.expect, Severity.INFO),
        N_("{name} is a virtual GPU, a share of a card."),
        {"virtualization_mode": card.text("virtualization_mode"), "name": card.card.name},
        name=card.card.name,
    )


def _prints(view: HostView, wanted: tuple[str, ...]) -> list[str]:
    found = view.frame.host.get("host.fingerprints")
    return [name for name in found if name in wanted] if isinstance(found, tuple) else []


def _fingerprint(view: HostView, wanted: tuple[str, ...], sentence: str, unsaid: Severity) -> Outcome:
    """A trace of a product in this container: names of libraries, files and variables, never their values."""
    found = _prints(view, wanted)
    if not found:
        return None
    listed = ", ".join(found)
    return view.found(_slice_severity(view.expect, unsaid), sentence, {"host.fingerprints": found}, products=listed)


@rule(
    "interceptor",
    family="sharing",
    scope=HOST,
    means=N_("A library stands between your programs and the driver; what memory and load you see may be its words."),
    decided=N_("A library of a known slicer is mapped or preloaded, or its variables or files are there (names only)."),
    could_be=(N_("a slice that was sold as one"),),
    action=N_("Ask the host whether a slice was sold; the numbers of this container are the slicer's, not the card's."),
    who="host",
    source="source code of HAMi-core, vcuda-controller, vgpu-manager and others",
    verify="cat /etc/ld.so.preload; env | cut -d= -f1 | grep -i -E 'cuda|gpu'",
)
def interceptor(view: HostView) -> Outcome:
    return _fingerprint(
        view, _INTERCEPTORS, N_("A library that slices the card is in this container: {products}."), Severity.WARN
    )


@rule(
    "slice-kernel",
    family="sharing",
    scope=HOST,
    means=N_("A kernel module of the provider slices the card by memory and time."),
    decided=N_("Files or variables of such a module are there, or the card's device file is not the NVIDIA driver's."),
    could_be=(N_("a slice that was sold as one"),),
    action=N_("Fine if a slice was sold; otherwise ask for the whole card."),
    who="host",
    source="Alibaba Cloud and Tencent Cloud documentation; device major 195 is NVIDIA's",
    verify="ls -l /dev/nvidia0; ls /proc/cgpu_km",
)
def slice_kernel(view: HostView) -> Outcome:
    return _fingerprint(view, _KERNEL, N_("A kernel module slices the card: {products}."), Severity.WARN)


@rule(
    "remote-gpu",
    family="sharing",
    scope=HOST,
    means=N_("The card is not in this machine: calls to it travel over a network."),
    decided=N_("A library or variables of a remote GPU product are there."),
    action=N_("Expect slow launches and copies; ask for a local card if one was sold."),
    who="host",
    source="rCUDA documentation; RWTH-ACS/cricket",
    verify="env | cut -d= -f1 | grep -i rcuda",
)
def remote_gpu(view: HostView) -> Outcome:
    return _fingerprint(view, _REMOTE, N_("The card is reached over a network ({products})."), Severity.WARN)


@rule(
    "mps",
    family="sharing",
    scope=HOST,
    means=N_("A multi-process server shares the card among programs; each may get a part of it only."),
    decided=N_("The driver lists an MPS process, or MPS files or variables are there."),
    could_be=(N_("an MPS server that you started yourself"),),
    action=N_("Fine if it is yours; otherwise ask who else uses it."),
    who="host",
    source="NVIDIA Multi-Process Service documentation",
    verify="ls /tmp/nvidia-mps; env | cut -d= -f1 | grep CUDA_MPS",
)
def mps(view: HostView) -> Outcome:
    listed = any(
        "M" in process.type
        for card in view.frame.cards
        if isinstance(card.processes, tuple)
        for process in card.processes
    )
    if not listed and not _prints(view, ("mps",)):
        return None
    return view.found(
        Severity.INFO if view.expect is not Expect.WHOLE else Severity.WARN,
        N_("A multi-process server (MPS) shares the card among programs."),
        {"listed_by_driver": listed, "host.fingerprints": _prints(view, ("mps",))},
    )


@rule(
    "same-card-twice",
    family="sharing",
    scope=HOST,
    means=N_("Two of the cards you see are the same piece of hardware."),
    decided=N_("Two cards share one PCI bus address, and neither is a MIG instance."),
    action=N_("Ask the host which cards you were sold."),
    who="host",
    source="NVML PCI info",
    verify="nvidia-smi --query-gpu=index,uuid,pci.bus_id --format=csv",
)
def same_card_twice(view: HostView) -> Outcome:
    seen: dict[str, int] = {}
    for card in view.frame.cards:
        bus = card.get("pci.bus_id")
        if not isinstance(bus, str) or card.uuid.startswith("MIG-") or view.frame.simulated:
            continue
        if bus in seen:
            return view.found(
                Severity.FAIL,
                N_("Cards {first} and {second} are one and the same ({bus})."),
                {"pci.bus_id": bus, "cards": [seen[bus], card.index]},
                first=seen[bus],
                second=card.index,
                bus=bus,
            )
        seen[bus] = card.index
    return None


@rule(
    "time-stolen",
    family="sharing",
    means=N_("A running kernel was interrupted in regular pieces: somebody else computed on the card meanwhile."),
    decided=N_("The sharing probe found at least 20 % of its time taken; 3 % or more is a warning."),
    could_be=(N_("a second process of yours"), N_("a desktop on the same card"), N_("a profiler")),
    action=N_("Repeat the probe three times alone, then ask for an exclusive card."),
    who="host",
    source="gap probe of this program; never yet confirmed on a card",
)
def time_stolen(card: CardView) -> Outcome:
    for probe in card.probes("sharing"):
        stolen = probe.detail.get("stolen_percent")
        if isinstance(stolen, (int, float)) and stolen >= card.limits["warn_percent"]:
            agreed = probe.runs_agreeing >= card.limits["runs"]
            return card.found(
                Severity.FAIL if stolen >= card.limits["fail_percent"] and agreed else Severity.WARN,
                N_("{stolen:.0f} % of the time was taken from a running kernel ({runs} runs agree)."),
                {"stolen_percent": stolen, "runs_agreeing": probe.runs_agreeing},
                stolen=stolen,
                runs=probe.runs_agreeing,
            )
    return None


@rule(
    "launch-limited",
    family="sharing",
    means=N_("Kernel launches wait in steps of 10 or 100 ms: something rations the card by time."),
    decided=N_("The sharing probe saw such steps, and this container's CPU was not throttled meanwhile."),
    could_be=(N_("a CPU limit of the container, which was looked at"),),
    action=N_("Ask the host whether a slice was sold."),
    who="host",
    source="HAMi-core's limiter sleeps 10 ms; CPU quota periods are 100 ms",
)
def launch_limited(card: CardView) -> Outcome:
    for probe in card.probes("sharing"):
        step = probe.detail.get("launch_step_ms")
        if isinstance(step, (int, float)) and step > 0 and probe.detail.get("cpu_throttled") is False:
            return card.found(
                _slice_severity(card.expect, Severity.WARN),
                N_("Kernel launches wait in steps of {step:.0f} ms."),
                {"launch_step_ms": step},
                step=step,
            )
    return None
