-- C-reactive protein of a laboratory specimen.
-- Grain:  one row per specimen_id with a positive result.
-- Source: public concept MIT-LCP/mimic-code measurement/inflammation.
-- Units:  mg/L.
SELECT
    MAX(subject_id) AS subject_id,
    MAX(hadm_id) AS hadm_id,
    MAX(charttime) AS charttime,
    specimen_id,
    MAX(valuenum) AS crp
FROM mimiciv_hosp.labevents
WHERE itemid = 50889 -- C-Reactive Protein
    AND valuenum > 0
GROUP BY specimen_id
