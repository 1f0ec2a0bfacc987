-- Coagulation tests of a laboratory specimen.
-- Grain:  one row per specimen_id with a numeric result.
-- Source: public concept MIT-LCP/mimic-code measurement/coagulation.
-- Units:  d_dimer ng/mL, fibrinogen mg/dL, thrombin, pt and ptt seconds, inr a ratio.
SELECT
    MAX(subject_id) AS subject_id,
    MAX(hadm_id) AS hadm_id,
    MAX(charttime) AS charttime,
    specimen_id,
    MAX(CASE WHEN itemid = 51196 THEN valuenum END) AS d_dimer,    -- D-Dimer
    MAX(CASE WHEN itemid = 51214 THEN valuenum END) AS fibrinogen, -- Fibrinogen, Functional
    MAX(CASE WHEN itemid = 51297 THEN valuenum END) AS thrombin,   -- Thrombin
    MAX(CASE WHEN itemid = 51237 THEN valuenum END) AS inr,        -- INR(PT)
    MAX(CASE WHEN itemid = 51274 THEN valuenum END) AS pt,         -- PT
    MAX(CASE WHEN itemid = 51275 THEN valuenum END) AS ptt         -- PTT
FROM mimiciv_hosp.labevents
WHERE itemid IN (51196, 51214, 51297, 51237, 51274, 51275)
    AND valuenum IS NOT NULL
GROUP BY specimen_id
