-- kdigo_stages: KDIGO stage of acute kidney injury (0-3) by creatinine, urine output and continuous
-- renal replacement (CRRT), at every time of a stay when one of them was recorded.
--
-- Grain:  one row per stay and time (more where two weights apply to one urine record); a stay
--         without creatinine has one row with NULL time besides its urine and CRRT rows.
-- Source: KDIGO Clinical Practice Guideline for Acute Kidney Injury, Kidney Int Suppl 2012;2:1-138;
--         MIMIC-IV derived concept `kdigo_stages` (MIT-LCP mimic-code, concepts/organfailure).
-- Units:  stages; creatinine mg/dL; urine rates mL/kg/h with 3 decimals.
-- Note:   creatinine limits are compared as binary floating-point numbers, exactly as written: a
--         rise from 1.1 to 1.4 mg/dL is not "0.3 or more" there.
WITH creatinine_stage AS (
    SELECT
        stay_id,
        charttime,
        creat_low_past_7day,
        creat_low_past_48hr,
        creat,
        CASE
            -- three-fold the lowest value of 7 days
            WHEN creat >= CAST(3.0 AS DOUBLE) * creat_low_past_7day THEN 3
            -- 4 mg/dL reached from 3.7 or less within 48 hours, or with a 1.5-fold rise in 7 days
            WHEN
                creat >= 4
                AND (
                    creat_low_past_48hr <= CAST(3.7 AS DOUBLE)
                    OR creat >= CAST(1.5 AS DOUBLE) * creat_low_past_7day
                )
                THEN 3
            WHEN creat >= CAST(2.0 AS DOUBLE) * creat_low_past_7day THEN 2
            WHEN creat >= creat_low_past_48hr + CAST(0.3 AS DOUBLE) THEN 1
            WHEN creat >= CAST(1.5 AS DOUBLE) * creat_low_past_7day THEN 1
            ELSE 0
        END AS aki_stage_creat
    FROM mimiciv_derived.kdigo_creatinine
),

urine_stage AS (
    SELECT
        uo.stay_id,
        uo.charttime,
        uo.uo_rt_6hr,
        uo.uo_rt_12hr,
        uo.uo_rt_24hr,
        CASE
            WHEN uo.uo_rt_6hr IS NULL THEN NULL  -- also when a 12- or 24-hour rate exists
            WHEN uo.charttime <= ie.intime + INTERVAL '6' HOUR THEN 0  -- too early in the stay to judge
            WHEN uo.uo_tm_24hr >= 24 AND uo.uo_rt_24hr < 0.3 THEN 3
            WHEN uo.uo_tm_12hr >= 12 AND uo.uo_rt_12hr = 0 THEN 3  -- anuria
            WHEN uo.uo_tm_12hr >= 12 AND uo.uo_rt_12hr < 0.5 THEN 2
            WHEN uo.uo_tm_6hr >= 6 AND uo.uo_rt_6hr < 0.5 THEN 1
            ELSE 0
        END AS aki_stage_uo
    FROM mimiciv_derived.kdigo_uo AS uo
    INNER JOIN mimiciv_icu.icustays AS ie ON uo.stay_id = ie.stay_id
),

crrt_stage AS (
    SELECT
        stay_id,
        charttime,
        3 AS aki_stage_crrt  -- any CRRT mode charted
    FROM mimiciv_derived.crrt
    WHERE crrt_mode IS NOT NULL AND charttime IS NOT NULL
),

recorded_time AS (
    SELECT stay_id, charttime FROM creatinine_stage
    UNION
    SELECT stay_id, charttime FROM urine_stage
    UNION
    SELECT stay_id, charttime FROM crrt_stage
),

staged AS (
    SELECT
        ie.subject_id,
        ie.hadm_id,
        ie.stay_id,
        tm.charttime,
        cr.creat_low_past_7day,
        cr.creat_low_past_48hr,
        cr.creat,
        cr.aki_stage_creat,
        uo.uo_rt_6hr,
        uo.uo_rt_12hr,
        uo.uo_rt_24hr,
        uo.aki_stage_uo,
        crrt.aki_stage_crrt,
        GREATEST(
            COALESCE(cr.aki_stage_creat, 0),
            COALESCE(uo.aki_stage_uo, 0),
            COALESCE(crrt.aki_stage_crrt, 0)
        ) AS aki_stage,
        (EPOCH_US(tm.charttime) - EPOCH_US(ie.intime)) / 1000000.0 AS seconds_in_icu
    FROM mimiciv_icu.icustays AS ie
    LEFT JOIN recorded_time AS tm ON ie.stay_id = tm.stay_id
    LEFT JOIN creatinine_stage AS cr ON tm.stay_id = cr.stay_id AND tm.charttime = cr.charttime
    LEFT JOIN urine_stage AS uo ON tm.stay_id = uo.stay_id AND tm.charttime = uo.charttime
    LEFT JOIN crrt_stage AS crrt ON tm.stay_id = crrt.stay_id AND tm.charttime = crrt.charttime
)

SELECT
    subject_id,
    hadm_id,
    stay_id,
    charttime,
    creat_low_past_7day,
    creat_low_past_48hr,
    creat,
    aki_stage_creat,
    uo_rt_6hr,
    uo_rt_12hr,
    uo_rt_24hr,
    aki_stage_uo,
    aki_stage_crrt,
    aki_stage,
    -- Highest stage of the past 6 hours. Time counts from the admission of each row's own stay, but
    -- the window runs over the patient: stays of one patient meet at the same hour of their stay.
    MAX(aki_stage) OVER (
        PARTITION BY subject_id ORDER BY seconds_in_icu
        RANGE BETWEEN 21600 PRECEDING AND CURRENT ROW
    ) AS aki_stage_smoothed
FROM staged
