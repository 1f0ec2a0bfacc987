-- Body weights of an ICU stay with the time during which each applies.
-- Grain:  one row per charted weight, and at most one row more per stay that fills the time before its first weight.
-- Source: public concept MIT-LCP/mimic-code demographics/weight_durations.
-- Units:  kg, as charted and unrounded. Equal times are ordered by weight_type, then weight.
WITH charted AS (
    SELECT
        stay_id,
        charttime,
        CASE WHEN itemid = 226512 THEN 'admit' ELSE 'daily' END AS weight_type,
        valuenum AS weight
    FROM mimiciv_icu.chartevents
    WHERE itemid IN (
        226512, -- Admission Weight (Kg)
        224639  -- Daily Weight
    )
        AND valuenum > 0
),

-- the first admission weight applies from 2 hours before the stay, every other weight from when it was charted
started AS (
    SELECT
        stay.stay_id,
        stay.intime,
        stay.outtime,
        charted.weight_type,
        charted.weight,
        CASE
            WHEN charted.weight_type = 'admit'
                AND ROW_NUMBER() OVER (
                    PARTITION BY stay.stay_id, charted.weight_type
                    ORDER BY charted.charttime NULLS FIRST, charted.weight
                ) = 1
                THEN stay.intime - INTERVAL 2 HOUR
            ELSE charted.charttime
        END AS starttime
    FROM mimiciv_icu.icustays AS stay
    INNER JOIN charted
        ON stay.stay_id = charted.stay_id
),

-- a weight applies until the next one, the last until 2 hours after the stay
interval_of_weight AS (
    SELECT
        stay_id,
        intime,
        starttime,
        COALESCE(LEAD(starttime) OVER in_time, outtime + INTERVAL 2 HOUR) AS endtime,
        weight,
        weight_type,
        ROW_NUMBER() OVER in_time AS place
    FROM started
    WINDOW in_time AS (PARTITION BY stay_id ORDER BY starttime NULLS FIRST, weight_type, weight)
)

SELECT stay_id, starttime, endtime, weight, weight_type
FROM interval_of_weight

UNION ALL

-- no weight yet at the start of the stay: the first one also counts before it was charted
SELECT
    stay_id,
    intime - INTERVAL 2 HOUR AS starttime,
    starttime AS endtime,
    weight,
    weight_type
FROM interval_of_weight
WHERE place = 1 AND starttime > intime
