"""A seeded generator of PhysioNet-layout folders: obviously artificial, yet every concept and task finds varied values.

Numbers stand in catalogs (`catalog/*.csv`), rules in SQL (`mimic/`, `eicu/`). Values follow no real patient; only
ranges, item ids, units and vocabularies are those of the databases, with extra weight on thresholds and odd cases.
"""

from m4lib.data.synthetic.write import VERSION, synthesize

__all__ = ["VERSION", "synthesize"]
