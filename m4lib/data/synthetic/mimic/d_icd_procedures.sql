SELECT unnest(['0BH17EZ', '5A1955Z', '02HV33Z', '3E0G76Z']) AS icd_code, 10 AS icd_version, 'Synthetic title' AS long_title
