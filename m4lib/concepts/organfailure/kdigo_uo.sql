-- kdigo_uo: urine volume and weight-normalised urine rate of the past 6, 12 and 24 hours at each
-- urine record, as KDIGO staging needs them.
--
-- Grain:  one row per stay and urine record, times the weight intervals that cover it (usually one).
-- Hours:  a record stands for the hours since the stay's previous record; the first one for 1 hour.
--         Volume and hours are added over the records of the past 6, 12 or 24 hours, a record
--         exactly 6, 12 or 24 hours old included, in time order.
-- Rates:  only when the hours reach 6 (and stay below 12), 12 or 24.
-- Source: KDIGO Clinical Practice Guideline for Acute Kidney Injury, Kidney Int Suppl 2012;2:1-138;
--         MIMIC-IV derived concept `kdigo_uo` (MIT-LCP mimic-code, concepts/organfailure).
-- Units:  volume mL; hours; weight kg; rate mL/kg/h with 3 decimals.
WITH urine AS (
    SELECT
        ie.stay_id,
        uo.charttime,
        uo.urineoutput,
        -- whole seconds since ICU admission, negative before it
        CAST((EPOCH_US(uo.charttime) - EPOCH_US(ie.intime)) / 1000000.0 AS BIGINT) AS seconds_in_icu,
        CASE
            WHEN LAG(uo.charttime) OVER in_time IS NULL THEN 1
            ELSE (EPOCH_US(uo.charttime) - LAG(EPOCH_US(uo.charttime)) OVER in_time) / 1000000.0 / 3600.0
        END AS hours_since_previous
    FROM mimiciv_icu.icustays AS ie
    INNER JOIN mimiciv_derived.urine_output AS uo ON ie.stay_id = uo.stay_id
    WINDOW in_time AS (PARTITION BY ie.stay_id ORDER BY uo.charttime)
),

past AS (
    -- LIST_SUM adds from the oldest record to the newest. A windowed SUM adds in an order of the
    -- engine's own, and at exactly 6, 12 or 24 hours the last digit decides.
    SELECT
        stay_id,
        charttime,
        LIST_SUM(LIST(urineoutput) OVER past_6hr) AS urineoutput_6hr,
        LIST_SUM(LIST(urineoutput) OVER past_12hr) AS urineoutput_12hr,
        LIST_SUM(LIST(urineoutput) OVER past_24hr) AS urineoutput_24hr,
        LIST_SUM(LIST(hours_since_previous) OVER past_6hr) AS uo_tm_6hr,
        LIST_SUM(LIST(hours_since_previous) OVER past_12hr) AS uo_tm_12hr,
        LIST_SUM(LIST(hours_since_previous) OVER past_24hr) AS uo_tm_24hr
    FROM urine
    WINDOW
        past_6hr AS (
            PARTITION BY stay_id ORDER BY seconds_in_icu RANGE BETWEEN 21600 PRECEDING AND CURRENT ROW
        ),
        past_12hr AS (
            PARTITION BY stay_id ORDER BY seconds_in_icu RANGE BETWEEN 43200 PRECEDING AND CURRENT ROW
        ),
        past_24hr AS (
            PARTITION BY stay_id ORDER BY seconds_in_icu RANGE BETWEEN 86400 PRECEDING AND CURRENT ROW
        )
)

SELECT
    past.stay_id,
    past.charttime,
    wd.weight,
    past.urineoutput_6hr,
    past.urineoutput_12hr,
    past.urineoutput_24hr,
    CASE
        WHEN past.uo_tm_6hr >= 6 AND past.uo_tm_6hr < 12
            THEN TRY_CAST(past.urineoutput_6hr / wd.weight / past.uo_tm_6hr AS DECIMAL(18, 3))
    END AS uo_rt_6hr,
    CASE
        WHEN past.uo_tm_12hr >= 12
            THEN TRY_CAST(past.urineoutput_12hr / wd.weight / past.uo_tm_12hr AS DECIMAL(18, 3))
    END AS uo_rt_12hr,
    CASE
        WHEN past.uo_tm_24hr >= 24
            THEN TRY_CAST(past.urineoutput_24hr / wd.weight / past.uo_tm_24hr AS DECIMAL(18, 3))
    END AS uo_rt_24hr,
    past.uo_tm_6hr,
    past.uo_tm_12hr,
    past.uo_tm_24hr
FROM past
LEFT JOIN mimiciv_derived.weight_durations AS wd
    ON past.stay_id = wd.stay_id
    -- the end of an interval belongs to the next weight
    AND past.charttime >= wd.starttime
    AND past.charttime < wd.endtime
