"""The samples of a soak as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt

PANELS = {
    "resident memory, MB": ("worker_mb", "worker_rocksdb_mb", "gateway_mb", "gateway_rocksdb_mb"),
    "open files": ("worker_files", "gateway_files"),
    "RocksDB and logs on disk, MB": ("worker_disk_mb", "gateway_disk_mb"),
    "lag, records": ("lag",),
    "packet to verdict, ms": ("p50_ms", "p99_ms"),
}


def draw(samples: Sequence[dict[str, Any]], into: Path) -> None:
    """Draw a panel for each kind of figure, over minutes.

    The measured part sets the scale: the warm-up, before zero, is cut off where it goes beyond.
    """
    minutes = [sample["second"] / 60 for sample in samples]
    measured = [sample for sample in samples if sample["second"] >= 0] or samples
    figure, axes = plt.subplots(len(PANELS), 1, figsize=(9, 11), sharex=True)
    for axis, (title, names) in zip(axes, PANELS.items(), strict=True):
        for name in names:
            axis.plot(minutes, [sample[name] for sample in samples], label=name, linewidth=1)
        axis.set_title(title, loc="left", fontsize=9)
        axis.set_ylim(0, 1.15 * max(max(one[name] for name in names) for one in measured) or 1)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7, loc="upper left", frameon=False)
    axes[-1].set_xlabel("minutes")
    figure.tight_layout()
    figure.savefig(into, dpi=110)
    plt.close(figure)
