SELECT code AS icd_code, version AS icd_version, 'Synthetic title of ' || code AS long_title FROM diagnoses ORDER BY version, code
