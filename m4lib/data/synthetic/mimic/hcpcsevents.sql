SELECT subject_id, hadm_id, ts(admit_s)::DATE AS chartdate, '93454' AS hcpcs_cd, 1 AS seq_num, 'Cardiovascular' AS short_description
FROM visit WHERE u('hcpcs', hadm_id, 0) < 0.05 ORDER BY hadm_id
