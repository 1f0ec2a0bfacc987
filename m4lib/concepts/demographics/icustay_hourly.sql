-- Hourly grid of each ICU stay, from 24 hours before its first heart rate to its last.
-- Grain:  one row per stay and hour; the row stands for the hour that ends at endtime. Stays without a heart rate have none.
-- Source: public concept MIT-LCP/mimic-code demographics/icustay_hourly.
-- Units:  hr counts hours from the first heart rate, rounded up to a full hour.
WITH grid AS (
    SELECT
        stay_id,
        CASE
            WHEN DATE_TRUNC('hour', intime_hr) = intime_hr THEN intime_hr
            ELSE DATE_TRUNC('hour', intime_hr) + INTERVAL 1 HOUR
        END AS first_full_hour,
        UNNEST(GENERATE_SERIES(
            -24,
            CAST(CEIL(DATE_DIFF('microsecond', intime_hr, outtime_hr) / 3600000000.0) AS BIGINT)
        )) AS hr
    FROM mimiciv_derived.icustay_times
    WHERE intime_hr IS NOT NULL AND outtime_hr IS NOT NULL
)

SELECT
    stay_id,
    hr,
    first_full_hour + TO_HOURS(hr) AS endtime
FROM grid
