-- Intracranial pressure.
-- Grain:  one row per subject_id, stay_id and charttime; rows stay when no value is plausible.
-- Source: public concept MIT-LCP/mimic-code measurement/icp.
-- Units:  mmHg, the highest value between 0 and 100 (both excluded).
SELECT
    subject_id,
    stay_id,
    charttime,
    MAX(CASE WHEN valuenum > 0 AND valuenum < 100 THEN valuenum END) AS icp
FROM mimiciv_icu.chartevents
WHERE itemid IN (
    220765, -- Intra Cranial Pressure
    227989  -- Intra Cranial Pressure #2
)
GROUP BY subject_id, stay_id, charttime
