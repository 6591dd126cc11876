"""The samples of a soak as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt

PANELS = {
    "resident memory, MB": ("worker_mb", "gateway_mb"),
    "open files": ("worker_files", "gateway_files"),
    "RocksDB and logs on disk, MB": ("worker_store_mb", "gateway_store_mb"),
    "lag, records": ("lag",),
    "packet to verdict, ms": ("p50_ms", "p99_ms"),
}


def draw(samples: Sequence[dict[str, Any]], into: Path) -> None:
    """A panel for each kind of figure, over minutes; the warm-up lies before zero."""
    minutes = [sample["second"] / 60 for sample in samples]
    figure, axes = plt.subplots(len(PANELS), 1, figsize=(9, 11), sharex=True)
    for axis, (title, names) in zip(axes, PANELS.items(), strict=True):
        for name in names:
            axis.plot(minutes, [sample[name] for sample in samples], label=name, linewidth=1)
        axis.set_title(title, loc="left", fontsize=9)
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7, loc="upper left", frameon=False)
    axes[-1].set_xlabel("minutes")
    figure.tight_layout()
    figure.savefig(into, dpi=110)
    plt.close(figure)
