-- Liver, pancreatic and muscle enzymes and bilirubin of a laboratory specimen.
-- Grain:  one row per specimen_id with a positive result.
-- Source: public concept MIT-LCP/mimic-code measurement/enzyme.
-- Units:  enzymes IU/L, bilirubin mg/dL, ck_mb ng/mL.
SELECT
    MAX(subject_id) AS subject_id,
    MAX(hadm_id) AS hadm_id,
    MAX(charttime) AS charttime,
    specimen_id,
    MAX(CASE WHEN itemid = 50861 THEN valuenum END) AS alt,                -- Alanine Aminotransferase (ALT)
    MAX(CASE WHEN itemid = 50863 THEN valuenum END) AS alp,                -- Alkaline Phosphatase
    MAX(CASE WHEN itemid = 50878 THEN valuenum END) AS ast,                -- Asparate Aminotransferase (AST)
    MAX(CASE WHEN itemid = 50867 THEN valuenum END) AS amylase,            -- Amylase
    MAX(CASE WHEN itemid = 50885 THEN valuenum END) AS bilirubin_total,    -- Bilirubin, Total
    MAX(CASE WHEN itemid = 50883 THEN valuenum END) AS bilirubin_direct,   -- Bilirubin, Direct
    MAX(CASE WHEN itemid = 50884 THEN valuenum END) AS bilirubin_indirect, -- Bilirubin, Indirect
    MAX(CASE WHEN itemid = 50910 THEN valuenum END) AS ck_cpk,             -- Creatine Kinase (CK)
    MAX(CASE WHEN itemid = 50911 THEN valuenum END) AS ck_mb,              -- Creatine Kinase, MB Isoenzyme
    MAX(CASE WHEN itemid = 50927 THEN valuenum END) AS ggt,                -- Gamma Glutamyltransferase
    MAX(CASE WHEN itemid = 50954 THEN valuenum END) AS ld_ldh              -- Lactate Dehydrogenase (LD)
FROM mimiciv_hosp.labevents
WHERE itemid IN (50861, 50863, 50878, 50867, 50885, 50883, 50884, 50910, 50911, 50927, 50954)
    AND valuenum > 0
GROUP BY specimen_id
