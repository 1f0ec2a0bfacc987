"""Evidence packages: sanitise, pack, search, check, fetch what campaigns leave behind, without patient data."""

from m4lib.evidence.inventory import inventory

__all__ = ["inventory"]
