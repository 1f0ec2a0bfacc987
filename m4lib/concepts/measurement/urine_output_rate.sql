-- Urine volume and weight-based rate over the last 6, 12 and 24 hours, at each time that urine was charted.
-- Grain:  one row per stay_id, charttime and weight that applies then (one row without weight when none does).
-- Source: public concept MIT-LCP/mimic-code measurement/urine_output_rate; windows as in KDIGO,
--         Kidney Int Suppl 2012;2:1-138.
-- Units:  mL, kg, mL/kg/h, hours. A rate is given only when the charted intervals add up to the whole window.
WITH first_heart_rate AS (
    SELECT
        stay.stay_id,
        MIN(heart_rate.charttime) AS intime_hr
    FROM mimiciv_icu.icustays AS stay
    INNER JOIN mimiciv_icu.chartevents AS heart_rate
        ON stay.stay_id = heart_rate.stay_id
        AND heart_rate.itemid = 220045 -- Heart Rate
        AND heart_rate.charttime > stay.intime - INTERVAL 1 MONTH
        AND heart_rate.charttime < stay.outtime + INTERVAL 1 MONTH
    GROUP BY stay.stay_id
),

-- a volume was collected since the one before it, the first since the first heart rate
collected AS (
    SELECT
        urine.stay_id,
        urine.charttime,
        urine.urineoutput,
        DATE_DIFF(
            'microsecond',
            COALESCE(
                LAG(urine.charttime) OVER (PARTITION BY urine.stay_id ORDER BY urine.charttime),
                first_heart_rate.intime_hr
            ),
            urine.charttime
        ) / 60000000.0 AS minutes
    FROM mimiciv_derived.urine_output AS urine
    INNER JOIN first_heart_rate
        ON urine.stay_id = first_heart_rate.stay_id
),

-- the window of 6 hours takes the volumes charted in the last 5, because each reaches back to the one before;
-- lists keep the order of time, so that the sums do not depend on the engine
in_window AS (
    SELECT
        stay_id,
        charttime,
        urineoutput,
        LIST(urineoutput) OVER last_6hr AS volumes_6hr,
        LIST(urineoutput) OVER last_12hr AS volumes_12hr,
        LIST(urineoutput) OVER last_24hr AS volumes_24hr,
        LIST(minutes) OVER last_6hr AS minutes_6hr,
        LIST(minutes) OVER last_12hr AS minutes_12hr,
        LIST(minutes) OVER last_24hr AS minutes_24hr
    FROM collected
    WINDOW
        last_6hr AS (
            PARTITION BY stay_id ORDER BY charttime RANGE BETWEEN INTERVAL 5 HOUR PRECEDING AND CURRENT ROW
        ),
        last_12hr AS (
            PARTITION BY stay_id ORDER BY charttime RANGE BETWEEN INTERVAL 11 HOUR PRECEDING AND CURRENT ROW
        ),
        last_24hr AS (
            PARTITION BY stay_id ORDER BY charttime RANGE BETWEEN INTERVAL 23 HOUR PRECEDING AND CURRENT ROW
        )
),

summed AS (
    SELECT
        stay_id,
        charttime,
        urineoutput,
        LIST_SUM(volumes_6hr) AS urineoutput_6hr,
        LIST_SUM(volumes_12hr) AS urineoutput_12hr,
        LIST_SUM(volumes_24hr) AS urineoutput_24hr,
        LIST_SUM(minutes_6hr) / 60.0 AS hours_6hr,
        LIST_SUM(minutes_12hr) / 60.0 AS hours_12hr,
        LIST_SUM(minutes_24hr) / 60.0 AS hours_24hr
    FROM in_window
)

SELECT
    summed.stay_id,
    summed.charttime,
    body.weight,
    summed.urineoutput AS uo,
    summed.urineoutput_6hr,
    summed.urineoutput_12hr,
    summed.urineoutput_24hr,
    CASE WHEN hours_6hr >= 6 THEN TRY_CAST(urineoutput_6hr / body.weight / hours_6hr AS DECIMAL(18, 3)) END
        AS uo_mlkghr_6hr,
    CASE WHEN hours_12hr >= 12 THEN TRY_CAST(urineoutput_12hr / body.weight / hours_12hr AS DECIMAL(18, 3)) END
        AS uo_mlkghr_12hr,
    CASE WHEN hours_24hr >= 24 THEN TRY_CAST(urineoutput_24hr / body.weight / hours_24hr AS DECIMAL(18, 3)) END
        AS uo_mlkghr_24hr,
    -- three decimals first, then two: the double rounding is part of the definition
    ROUND(TRY_CAST(hours_6hr AS DECIMAL(18, 3)), 2) AS uo_tm_6hr,
    ROUND(TRY_CAST(hours_12hr AS DECIMAL(18, 3)), 2) AS uo_tm_12hr,
    ROUND(TRY_CAST(hours_24hr AS DECIMAL(18, 3)), 2) AS uo_tm_24hr
FROM summed
LEFT JOIN mimiciv_derived.weight_durations AS body
    ON summed.stay_id = body.stay_id
    AND summed.charttime > body.starttime
    AND summed.charttime <= body.endtime
    AND body.weight > 0
