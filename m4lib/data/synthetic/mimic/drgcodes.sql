SELECT subject_id, hadm_id, k.kind AS drg_type, pick(['870', '871', '064', '207', '291'], u('drg', hadm_id, 0)) AS drg_code, 'SYNTHETIC GROUP, W MCC' AS description,
    CASE WHEN k.kind = 'APR' THEN 1 + (u('drg', hadm_id, 1) * 3)::BIGINT END AS drg_severity, CASE WHEN k.kind = 'APR' THEN 1 + (u('drg', hadm_id, 2) * 3)::BIGINT END AS drg_mortality
FROM visit, (VALUES ('HCFA'), ('APR')) AS k(kind) ORDER BY hadm_id, k.kind
