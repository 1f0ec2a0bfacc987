WITH steps AS (
    SELECT subject_id, hadm_id, 1 AS step, 'ED' AS eventtype, 'Emergency Department' AS careunit, admit_s - 7200 AS in_s, admit_s AS out_s FROM visit WHERE admission_type = 'EW EMER.'
    UNION ALL SELECT subject_id, hadm_id, 2, 'admit', pick(['Medicine', 'Med/Surg', 'Surgery', 'Cardiology'], u('ward', hadm_id, 0)), admit_s, acute_s FROM visit
    UNION ALL SELECT subject_id, hadm_id, 3 + s, 'transfer', 'Medical Intensive Care Unit (MICU)', in_s, out_s FROM stay
    UNION ALL SELECT subject_id, hadm_id, 99, 'discharge', NULL, disch_s, NULL FROM visit
)
SELECT subject_id, hadm_id, 33000000 + row_number() OVER (ORDER BY hadm_id, step) AS transfer_id, eventtype, careunit, ts(in_s) AS intime, ts(out_s) AS outtime
FROM steps ORDER BY transfer_id
