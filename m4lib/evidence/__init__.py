"""Evidence packages: sanitise, pack, search, check, fetch what campaigns leave behind, without patient data."""
