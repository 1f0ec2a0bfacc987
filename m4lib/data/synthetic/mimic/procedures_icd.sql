SELECT subject_id, hadm_id, r.k + 1 AS seq_num, ts(admit_s + 86400 * r.k)::DATE AS chartdate,
    pick(['0BH17EZ', '5A1955Z', '02HV33Z', '3E0G76Z'], u('pcs', hadm_id, r.k)) AS icd_code, 10 AS icd_version
FROM visit, unnest(range((u('pcs', hadm_id, 90) * 4)::BIGINT)) AS r(k) ORDER BY hadm_id, r.k
