-- Weight-normalised urine output rates over the trailing 6, 12 and 24 h at each urine record.
-- Grain: one row per ICU stay and urine record time; stays without any charted heart rate are absent.
-- Units: urine mL, weight kg, rates mL/kg/h (3 decimals survive), time h (rounded to 3, then to 2 decimals).
-- Elapsed time: each record accounts for the minutes since the one before, the first for those since the first heart
-- rate; looking back 5, 11 and 23 h therefore covers about 6, 12 and 24 h.
-- Source: KDIGO AKI guideline, Kidney Int Suppl 2012;2:1-138, with the conventions of the public MIMIC-IV concept.
WITH stay_start AS (
    SELECT stay.stay_id, MIN(heart_rate.charttime) AS first_heart_rate
    FROM mimiciv_icu.icustays AS stay
    INNER JOIN mimiciv_icu.chartevents AS heart_rate
        ON heart_rate.stay_id = stay.stay_id
        AND heart_rate.itemid = 220045 -- Heart Rate
        AND heart_rate.charttime > stay.intime - INTERVAL 1 MONTH
        AND heart_rate.charttime < stay.outtime + INTERVAL 1 MONTH
    GROUP BY stay.stay_id
),

record AS (
    SELECT
        stay_start.stay_id,
        urine.charttime,
        urine.urineoutput,
        DATE_DIFF(
            'microseconds',
            COALESCE(
                LAG(urine.charttime) OVER (PARTITION BY stay_start.stay_id ORDER BY urine.charttime),
                stay_start.first_heart_rate
            ),
            urine.charttime
        ) / 60000000.0 AS minutes
    FROM stay_start
    INNER JOIN mimiciv_derived.urine_output AS urine ON urine.stay_id = stay_start.stay_id
),

-- looking back over fixed spans of time; a list keeps the order of its records
look_back AS (
    SELECT
        stay_id,
        charttime,
        urineoutput,
        LIST(urineoutput) OVER span_5h AS volumes_6hr,
        LIST(urineoutput) OVER span_11h AS volumes_12hr,
        LIST(urineoutput) OVER span_23h AS volumes_24hr,
        LIST(minutes) OVER span_5h AS minutes_6hr,
        LIST(minutes) OVER span_11h AS minutes_12hr,
        LIST(minutes) OVER span_23h AS minutes_24hr
    FROM record
    WINDOW
        span_5h AS (PARTITION BY stay_id ORDER BY charttime RANGE BETWEEN INTERVAL 5 HOUR PRECEDING AND CURRENT ROW),
        span_11h AS (PARTITION BY stay_id ORDER BY charttime RANGE BETWEEN INTERVAL 11 HOUR PRECEDING AND CURRENT ROW),
        span_23h AS (PARTITION BY stay_id ORDER BY charttime RANGE BETWEEN INTERVAL 23 HOUR PRECEDING AND CURRENT ROW)
),

-- floating-point sums are taken in time order, so that exact 6, 12 and 24 h are always decided alike
summed AS (
    SELECT
        stay_id,
        charttime,
        urineoutput AS uo,
        LIST_SUM(volumes_6hr) AS urineoutput_6hr,
        LIST_SUM(volumes_12hr) AS urineoutput_12hr,
        LIST_SUM(volumes_24hr) AS urineoutput_24hr,
        LIST_SUM(minutes_6hr) / 60.0 AS hours_6hr,
        LIST_SUM(minutes_12hr) / 60.0 AS hours_12hr,
        LIST_SUM(minutes_24hr) / 60.0 AS hours_24hr
    FROM look_back
)

SELECT
    summed.stay_id,
    summed.charttime,
    body.weight,
    summed.uo,
    summed.urineoutput_6hr,
    summed.urineoutput_12hr,
    summed.urineoutput_24hr,
    CASE
        WHEN summed.hours_6hr >= 6
            THEN ROUND(TRY_CAST(summed.urineoutput_6hr / body.weight / summed.hours_6hr AS DECIMAL(18, 3)), 4)
    END AS uo_mlkghr_6hr,
    CASE
        WHEN summed.hours_12hr >= 12
            THEN ROUND(TRY_CAST(summed.urineoutput_12hr / body.weight / summed.hours_12hr AS DECIMAL(18, 3)), 4)
    END AS uo_mlkghr_12hr,
    CASE
        WHEN summed.hours_24hr >= 24
            THEN ROUND(TRY_CAST(summed.urineoutput_24hr / body.weight / summed.hours_24hr AS DECIMAL(18, 3)), 4)
    END AS uo_mlkghr_24hr,
    ROUND(TRY_CAST(summed.hours_6hr AS DECIMAL(18, 3)), 2) AS uo_tm_6hr,
    ROUND(TRY_CAST(summed.hours_12hr AS DECIMAL(18, 3)), 2) AS uo_tm_12hr,
    ROUND(TRY_CAST(summed.hours_24hr AS DECIMAL(18, 3)), 2) AS uo_tm_24hr
FROM summed
LEFT JOIN mimiciv_derived.weight_durations AS body
    ON body.stay_id = summed.stay_id
    AND summed.charttime > body.starttime
    AND summed.charttime <= body.endtime
    AND body.weight > 0
