"""Reference outputs and task databases: the right answers (host only) and what an agent may look at instead."""
