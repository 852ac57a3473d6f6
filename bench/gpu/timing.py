"""Timing, and tables of it."""

import statistics

from cuda import Float, Handle


def measure(cuda, launches, samples):
    """Times each of `launches` (label -> function) in turn, round by round, so that a change of clock hits all alike.

    Returns label -> the samples in milliseconds for one launch.
    """
    start, end = (cuda.get(Handle, "cuEventCreate", 0) for _ in range(2))

    def elapsed(launch, repeat):
        cuda.call("cuEventRecord", start, None)
        for _ in range(repeat):
            launch()
        cuda.call("cuEventRecord", end, None)
        cuda.call("cuEventSynchronize", end)
        return cuda.get(Float, "cuEventElapsedTime", start, end) / repeat

    for launch in launches.values():
        elapsed(launch, 3)
    repeat = {label: max(1, min(1000, round(20 / max(elapsed(launch, 5), 1e-3)))) for label, launch in launches.items()}
    times = {label: [] for label in launches}
    for turn in range(samples + 1):
        for label, launch in launches.items():
            time = elapsed(launch, repeat[label])
            if turn:  # the first round warms up
                times[label].append(time)
    return times


def table(header, rows):
    lines = [header, ["---"] + ["---:"] * (len(header) - 1)] + rows
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def time_rows(times, rate):
    """One row a label: median time, its spread, the rate that `rate` makes of it, the speed relative to the others."""
    median = {label: statistics.median(samples) for label, samples in times.items()}
    rows = []
    for label, samples in times.items():
        ratios = [f"{median[other] / median[label]:.2f}" for other in list(times)[1:]]
        spread = f"{min(samples):.4f}–{max(samples):.4f}"
        rows.append([label, f"{median[label]:.4f}", spread, f"{rate / median[label]:.1f}", *ratios])
    return rows
