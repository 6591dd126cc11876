# %% [markdown]
# # How well protocols spread, by generation
#
# Reads an export (`headrace export parquet --into lake`) and draws, for each generation of agents,
# how many transfers were taken, and how well their tasks went.  Jupyter and VS Code open the cells
# of this file; as a program it runs with `python examples/effectiveness.py`.  It needs polars and
# matplotlib beside `headrace[analytics]`.

# %%
import os

import polars as pl
from matplotlib import pyplot

from streams.analytics import connect

LAKE = os.environ.get("LAKE", "lake")
PICTURE = os.environ.get("PICTURE", "effectiveness.png")

# %% Three lines to a data frame
with connect(LAKE) as log:
    transfers = log.sql("SELECT * FROM transfers WHERE counted").pl()

# %% The effectiveness of all transfers of a generation, as `headrace` defines it
# acceptance x 0.5 + mean outcome x 0.35 + (1 - mean drift risk) x 0.15
NANO = 1e9
taken = pl.col("taken").fill_null(False).mean()
outcome = pl.col("task_outcome_nano").cast(pl.Float64).mean() / NANO
drift = pl.col("task_drift_nano").cast(pl.Float64).mean() / NANO
score = 0.5 * taken + 0.35 * outcome.fill_null(0) + 0.15 * (1 - drift.fill_null(1))
generations = (
    transfers.group_by("generation")
    .agg(
        pl.len().alias("transfers"),
        taken.alias("taken"),
        outcome.alias("outcome"),
        drift.alias("drift_risk"),
        score.alias("effectiveness"),
    )
    .sort("generation")
)
print(generations.write_csv(float_precision=6), end="")

# %% One plot
figure, (upper, lower) = pyplot.subplots(
    2, 1, figsize=(9, 6), sharex=True, height_ratios=(3, 1), layout="constrained"
)
x = generations["generation"]
upper.plot(x, generations["effectiveness"], "o-", label="effectiveness", linewidth=2.5)
upper.plot(x, generations["taken"], "s--", label="share of transfers taken", alpha=0.7)
upper.plot(x, generations["outcome"], "^--", label="mean outcome of their tasks", alpha=0.7)
upper.set(title="How well protocols spread", ylim=(0, 1.02))
upper.legend(loc="lower right")
lower.bar(x, generations["transfers"], color="0.7")
lower.set(xlabel="generation", ylabel="transfers")
for axes in (upper, lower):
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.3)
figure.savefig(PICTURE, dpi=100)
