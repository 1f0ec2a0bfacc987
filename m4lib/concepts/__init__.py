"""Derived clinical concepts of MIMIC-IV: `<group>/<concept>.sql`, one table of `mimiciv_derived` a file."""

from m4lib.concepts.engine import ConceptResult, build_concepts

__all__ = ["ConceptResult", "build_concepts"]
