-- Body height.
-- Grain:  one row per pair of an inch and a centimetre record of one patient and time, or per record without a partner.
-- Source: public concept MIT-LCP/mimic-code measurement/height.
-- Units:  cm, between 120 and 230 (both excluded); the centimetre record wins over the inch record.
-- Note:   a height charted in inches only keeps no subject_id, stay_id and charttime, as in the public concept at the
--         benchmark's release; such rows cannot be joined to a patient.
WITH inch AS (
    SELECT
        subject_id,
        charttime,
        -- three decimals first, then two: the double rounding is part of the definition
        ROUND(TRY_CAST(valuenum * 2.54 AS DECIMAL(18, 3)), 2) AS height
    FROM mimiciv_icu.chartevents
    WHERE itemid = 226707 AND valuenum IS NOT NULL -- Height
),

centimetre AS (
    SELECT
        subject_id,
        stay_id,
        charttime,
        ROUND(TRY_CAST(valuenum AS DECIMAL(18, 3)), 2) AS height
    FROM mimiciv_icu.chartevents
    WHERE itemid = 226730 AND valuenum IS NOT NULL -- Height (cm)
),

paired AS (
    SELECT
        centimetre.subject_id,
        centimetre.stay_id,
        centimetre.charttime,
        COALESCE(centimetre.height, inch.height) AS height
    FROM centimetre
    FULL OUTER JOIN inch
        ON centimetre.subject_id = inch.subject_id
        AND centimetre.charttime = inch.charttime
)

SELECT subject_id, stay_id, charttime, height
FROM paired
WHERE height > 120 AND height < 230
