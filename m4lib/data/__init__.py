"""From a folder of raw CSV files to a typed DuckDB file: sources, ingest, synthetic data."""
