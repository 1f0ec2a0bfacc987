WITH timed AS (
    SELECT *, CASE WHEN u('unstarted', key, 0) < 0.003 THEN NULL ELSE at_s END AS start_s,
        at_s + 3600 * CASE WHEN u('course', key, 1) < 0.02 THEN -2 ELSE 6 + (u('course', key, 2) * 200)::BIGINT END AS stop_s
    FROM drug_order
    UNION ALL  -- the same order twice, as in rewritten orders
    SELECT *, at_s, at_s + 86400 FROM drug_order WHERE infection AND u('again', key, 0) < 0.05
)
SELECT subject_id, hadm_id, pharmacy_id, subject_id || '-' || (key % 4096) AS poe_id, key % 4096 AS poe_seq, 'PSYN' || (key % 400) AS order_provider_id,
    ts(start_s) AS starttime, ts(stop_s) AS stoptime, drug_type, drug, upper(left(drug, 4)) || '1' AS formulary_drug_cd,
    '00' || (1000 + length(drug)) AS gsn, '00000000000' AS ndc, '1 g Vial' AS prod_strength, NULL AS form_rx, (1 + key % 4)::VARCHAR AS dose_val_rx, 'g' AS dose_unit_rx,
    '1' AS form_val_disp, 'VIAL' AS form_unit_disp, 1 + key % 4 AS doses_per_24_hrs, CASE WHEN u('routeless', key, 0) < 0.005 THEN NULL ELSE route END AS route
FROM timed ORDER BY subject_id, key
