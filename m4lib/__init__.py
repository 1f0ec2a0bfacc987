"""M4Bench as a library: build the databases, run agents in containers, evaluate, bootstrap, render the paper."""

__version__ = "0.1.0"
