-- kdigo_creatinine: serum creatinine around each ICU stay, with the lowest earlier value of the
-- past 48 hours and of the past 7 days.
--
-- Grain:  one row per stay and creatinine time; one row with NULL time for a stay without creatinine.
-- Window: 7 days before ICU admission to ICU discharge, both ends included.
-- Link:   by patient, so values of earlier admissions or from outside any admission count.
-- Source: KDIGO Clinical Practice Guideline for Acute Kidney Injury, Kidney Int Suppl 2012;2:1-138;
--         MIMIC-IV derived concept `kdigo_creatinine` (MIT-LCP mimic-code, concepts/organfailure).
-- Units:  mg/dL.
WITH creatinine AS (
    SELECT
        ie.hadm_id,
        ie.stay_id,
        le.charttime,
        AVG(le.valuenum ORDER BY le.valuenum) AS creat  -- all specimens of that time
    FROM mimiciv_icu.icustays AS ie
    LEFT JOIN mimiciv_hosp.labevents AS le
        ON ie.subject_id = le.subject_id
        AND le.itemid = 50912  -- Creatinine (blood)
        AND le.valuenum <= 150  -- plausible; no lower bound
        AND le.charttime >= ie.intime - INTERVAL '7' DAY
        AND le.charttime <= ie.outtime
    GROUP BY ie.hadm_id, ie.stay_id, le.charttime
)

SELECT
    hadm_id,
    stay_id,
    charttime,
    creat,
    MIN(creat) OVER past_48hr AS creat_low_past_48hr,
    MIN(creat) OVER past_7day AS creat_low_past_7day
FROM creatinine
-- The value of the time itself is left out of both; exactly 48 hours or 7 days ago still counts.
WINDOW
    past_48hr AS (
        PARTITION BY stay_id ORDER BY charttime
        RANGE BETWEEN INTERVAL '48' HOUR PRECEDING AND INTERVAL '1' MICROSECOND PRECEDING
    ),
    past_7day AS (
        PARTITION BY stay_id ORDER BY charttime
        RANGE BETWEEN INTERVAL '7' DAY PRECEDING AND INTERVAL '1' MICROSECOND PRECEDING
    )
