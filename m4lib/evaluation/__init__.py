"""The evaluator: score an output file against a reference, say why, and keep the books of a whole campaign."""

from m4lib.evaluation.score import EVALUATOR_VERSION, evaluate_files

__all__ = ["EVALUATOR_VERSION", "evaluate_files"]
