"""The paper's tables, grouped by what they rest on. Importing this package registers all of them."""

from m4lib.analysis.tables import claude, controls, effects, integrity, static, tasks, transformed

__all__ = ["claude", "controls", "effects", "integrity", "static", "tasks", "transformed"]
