-- Heart rhythm and ectopy, as charted.
-- Grain:  one row per subject_id and charttime; of several texts the alphabetically last is kept.
-- Source: public concept MIT-LCP/mimic-code measurement/rhythm.
SELECT
    subject_id,
    charttime,
    MAX(CASE WHEN itemid = 220048 THEN value END) AS heart_rhythm,              -- Heart Rhythm
    MAX(CASE WHEN itemid = 224650 THEN value END) AS ectopy_type,               -- Ectopy Type 1
    MAX(CASE WHEN itemid = 224651 THEN value END) AS ectopy_frequency,          -- Ectopy Frequency 1
    MAX(CASE WHEN itemid = 226479 THEN value END) AS ectopy_type_secondary,     -- Ectopy Type 2
    MAX(CASE WHEN itemid = 226480 THEN value END) AS ectopy_frequency_secondary -- Ectopy Frequency 2
FROM mimiciv_icu.chartevents
WHERE stay_id IS NOT NULL
    AND itemid IN (220048, 224650, 224651, 226479, 226480)
GROUP BY subject_id, charttime
