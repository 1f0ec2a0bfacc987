-- Complete blood count of a laboratory specimen.
-- Grain:  one row per specimen_id with a positive result.
-- Source: public concept MIT-LCP/mimic-code measurement/complete_blood_count.
-- Units:  hematocrit, rdw %; hemoglobin, mchc g/dL; mch pg; mcv, rdwsd fL; platelet, wbc K/uL; rbc m/uL.
SELECT
    MAX(subject_id) AS subject_id,
    MAX(hadm_id) AS hadm_id,
    MAX(charttime) AS charttime,
    specimen_id,
    MAX(CASE WHEN itemid = 51221 THEN valuenum END) AS hematocrit, -- Hematocrit
    MAX(CASE WHEN itemid = 51222 THEN valuenum END) AS hemoglobin, -- Hemoglobin
    MAX(CASE WHEN itemid = 51248 THEN valuenum END) AS mch,        -- MCH
    MAX(CASE WHEN itemid = 51249 THEN valuenum END) AS mchc,       -- MCHC
    MAX(CASE WHEN itemid = 51250 THEN valuenum END) AS mcv,        -- MCV
    MAX(CASE WHEN itemid = 51265 THEN valuenum END) AS platelet,   -- Platelet Count
    MAX(CASE WHEN itemid = 51279 THEN valuenum END) AS rbc,        -- Red Blood Cells
    MAX(CASE WHEN itemid = 51277 THEN valuenum END) AS rdw,        -- RDW
    MAX(CASE WHEN itemid = 52159 THEN valuenum END) AS rdwsd,      -- the public concept's id; newer dictionaries label it otherwise
    MAX(CASE WHEN itemid = 51301 THEN valuenum END) AS wbc         -- White Blood Cells
FROM mimiciv_hosp.labevents
WHERE itemid IN (51221, 51222, 51248, 51249, 51250, 51265, 51279, 51277, 52159, 51301)
    AND valuenum > 0
GROUP BY specimen_id
