-- Highest KDIGO acute kidney injury stage in the first 48 h of an ICU stay, overall and by criterion.
-- Grain: one row per ICU stay. A criterion without data is stage 0.
-- Window: intime to intime + 48 h, both ends included.
-- Units: creatinine mg/dL, urine rates mL/kg/h.
-- Baseline: lowest creatinine of the past 7 days; any continuous renal replacement is stage 3.
-- Source: KDIGO AKI guideline, Kidney Int Suppl 2012;2:1-138, with the conventions of the public MIMIC-IV concept.
WITH creatinine AS (
    SELECT
        stay.stay_id,
        -- products and sums stay on the right-hand side: binary floating point decides the edges
        MAX(CASE
            WHEN lab.creat >= 3.0 * lab.creat_low_past_7day THEN 3
            WHEN lab.creat >= 4
                AND (lab.creat_low_past_48hr <= 3.7 OR lab.creat >= 1.5 * lab.creat_low_past_7day) THEN 3
            WHEN lab.creat >= 2.0 * lab.creat_low_past_7day THEN 2
            WHEN lab.creat >= lab.creat_low_past_48hr + 0.3 THEN 1
            WHEN lab.creat >= 1.5 * lab.creat_low_past_7day THEN 1
            ELSE 0
        END) AS stage
    FROM mimiciv_icu.icustays AS stay
    INNER JOIN mimiciv_derived.kdigo_creatinine AS lab
        ON lab.stay_id = stay.stay_id
        AND lab.charttime BETWEEN stay.intime AND stay.intime + INTERVAL 48 HOUR
    GROUP BY stay.stay_id
),

urine AS (
    SELECT
        stay.stay_id,
        MAX(CASE
            WHEN output.uo_rt_6hr IS NULL THEN NULL
            WHEN output.charttime <= stay.intime + INTERVAL 6 HOUR THEN 0
            WHEN output.uo_tm_24hr >= 24 AND output.uo_rt_24hr < 0.3 THEN 3
            WHEN output.uo_tm_12hr >= 12 AND output.uo_rt_12hr = 0 THEN 3
            WHEN output.uo_tm_12hr >= 12 AND output.uo_rt_12hr < 0.5 THEN 2
            WHEN output.uo_tm_6hr >= 6 AND output.uo_rt_6hr < 0.5 THEN 1
            ELSE 0
        END) AS stage
    FROM mimiciv_icu.icustays AS stay
    INNER JOIN mimiciv_derived.kdigo_uo AS output
        ON output.stay_id = stay.stay_id
        AND output.charttime BETWEEN stay.intime AND stay.intime + INTERVAL 48 HOUR
    GROUP BY stay.stay_id
),

renal_replacement AS (
    SELECT DISTINCT stay.stay_id, 3 AS stage
    FROM mimiciv_icu.icustays AS stay
    INNER JOIN mimiciv_derived.crrt AS dialysis
        ON dialysis.stay_id = stay.stay_id
        AND dialysis.charttime BETWEEN stay.intime AND stay.intime + INTERVAL 48 HOUR
    WHERE dialysis.crrt_mode IS NOT NULL
)

SELECT
    stay.subject_id,
    stay.hadm_id,
    stay.stay_id,
    GREATEST(
        COALESCE(creatinine.stage, 0),
        COALESCE(urine.stage, 0),
        COALESCE(renal_replacement.stage, 0)
    ) AS aki_stage,
    COALESCE(creatinine.stage, 0) AS aki_stage_creat,
    COALESCE(urine.stage, 0) AS aki_stage_uo,
    COALESCE(renal_replacement.stage, 0) AS aki_stage_crrt
FROM mimiciv_icu.icustays AS stay
LEFT JOIN creatinine ON creatinine.stay_id = stay.stay_id
LEFT JOIN urine ON urine.stay_id = stay.stay_id
LEFT JOIN renal_replacement ON renal_replacement.stay_id = stay.stay_id
