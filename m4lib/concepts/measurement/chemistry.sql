-- Basic metabolic panel and proteins of a laboratory specimen.
-- Grain:  one row per specimen_id with a positive result (the anion gap may be zero or negative).
-- Source: public concept MIT-LCP/mimic-code measurement/chemistry; blood-gas versions of these analytes are not used.
-- Units:  proteins g/dL; bun, calcium, creatinine, glucose mg/dL; the rest mEq/L.
SELECT
    MAX(subject_id) AS subject_id,
    MAX(hadm_id) AS hadm_id,
    MAX(charttime) AS charttime,
    specimen_id,
    MAX(CASE WHEN itemid = 50862 AND valuenum <= 10 THEN valuenum END) AS albumin,         -- Albumin
    MAX(CASE WHEN itemid = 50930 AND valuenum <= 10 THEN valuenum END) AS globulin,        -- Globulin
    MAX(CASE WHEN itemid = 50976 AND valuenum <= 20 THEN valuenum END) AS total_protein,   -- Protein, Total
    MAX(CASE WHEN itemid = 50868 AND valuenum <= 10000 THEN valuenum END) AS aniongap,     -- Anion Gap
    MAX(CASE WHEN itemid = 50882 AND valuenum <= 10000 THEN valuenum END) AS bicarbonate,  -- Bicarbonate
    MAX(CASE WHEN itemid = 51006 AND valuenum <= 300 THEN valuenum END) AS bun,            -- Urea Nitrogen
    MAX(CASE WHEN itemid = 50893 AND valuenum <= 10000 THEN valuenum END) AS calcium,      -- Calcium, Total
    MAX(CASE WHEN itemid = 50902 AND valuenum <= 10000 THEN valuenum END) AS chloride,     -- Chloride
    MAX(CASE WHEN itemid = 50912 AND valuenum <= 150 THEN valuenum END) AS creatinine,     -- Creatinine
    MAX(CASE WHEN itemid = 50931 AND valuenum <= 10000 THEN valuenum END) AS glucose,      -- Glucose
    MAX(CASE WHEN itemid = 50983 AND valuenum <= 200 THEN valuenum END) AS sodium,         -- Sodium
    MAX(CASE WHEN itemid = 50971 AND valuenum <= 30 THEN valuenum END) AS potassium        -- Potassium
FROM mimiciv_hosp.labevents
WHERE itemid IN (50862, 50930, 50976, 50868, 50882, 51006, 50893, 50902, 50912, 50931, 50983, 50971)
    AND valuenum IS NOT NULL
    AND (valuenum > 0 OR itemid = 50868)
GROUP BY specimen_id
