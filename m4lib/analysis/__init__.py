"""From run indexes to the paper's tables and figures.

`sources` finds and reads run indexes; `metrics` makes cells and deltas of them; `intervals`, `significance` and `models`
hold the statistics; `tables/` and `figures` the items of the paper; `check` compares with print; `choices` and `referee`
ask what else could have been computed; `paper` is what the notebooks call, `batch` and `cli` what the command line calls.
"""
