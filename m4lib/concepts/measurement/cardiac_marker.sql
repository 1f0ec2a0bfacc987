-- Cardiac biomarkers of a laboratory specimen.
-- Grain:  one row per specimen_id with a numeric result.
-- Source: public concept MIT-LCP/mimic-code measurement/cardiac_marker.
-- Units:  troponin_t and ck_mb ng/mL, ntprobnp pg/mL.
SELECT
    MAX(subject_id) AS subject_id,
    MAX(hadm_id) AS hadm_id,
    MAX(charttime) AS charttime,
    specimen_id,
    MAX(CASE WHEN itemid = 51003 THEN valuenum END) AS troponin_t, -- Troponin T
    MAX(CASE WHEN itemid = 50911 THEN valuenum END) AS ck_mb,      -- Creatine Kinase, MB Isoenzyme
    MAX(CASE WHEN itemid = 50963 THEN valuenum END) AS ntprobnp    -- NTproBNP
FROM mimiciv_hosp.labevents
WHERE itemid IN (51003, 50911, 50963)
    AND valuenum IS NOT NULL
GROUP BY specimen_id
