"""Transformed schemas of MIMIC-IV: neutral names (obfuscated), and nine base tables merged into four (restructured)."""

from m4lib.tasks.schemas.codebook import Codebook, codebook, mimic_catalogue
from m4lib.tasks.schemas.prompt import dictionary_section, distinctive_names, map_skill, transform_instruction

__all__ = [
    "Codebook",
    "codebook",
    "dictionary_section",
    "distinctive_names",
    "map_skill",
    "mimic_catalogue",
    "transform_instruction",
]
