-- apsiii: acute physiology score of APACHE III on the first ICU day, with predicted hospital mortality.
--
-- Grain:  one row per ICU stay; all scores are NULL when its admission or patient row is missing.
--         A component without data is NULL; the total counts it as 0.
-- Window: vital signs, laboratory and coma scale from intime - 6 h to intime + 24 h, urine from
--         intime; arterial gases over the whole ICU stay (intime included, outtime excluded).
-- Rules:  of the lowest and the highest value the one further from normal is scored.
-- Source: Knaus WA et al., Chest 1991;100:1619-1636; probability: Johnson AEW, thesis, University of
--         Oxford 2015; MIMIC-IV derived concept `apsiii` (MIT-LCP mimic-code, concepts/score).
-- Units:  points; probability 0-1. Unit of each measurement beside its points.
WITH gas AS (
    SELECT
        ie.stay_id,
        bg.po2,
        bg.aado2,
        bg.ph,
        bg.pco2,
        COALESCE(bg.fio2, bg.fio2_chartevents) AS fio2,  -- %
        vent.stay_id IS NOT NULL AS ventilated
    FROM mimiciv_icu.icustays AS ie
    INNER JOIN mimiciv_derived.bg AS bg
        ON ie.hadm_id = bg.hadm_id
        AND bg.charttime >= ie.intime
        AND bg.charttime < ie.outtime
        AND bg.specimen = 'ART.'
    LEFT JOIN mimiciv_derived.ventilation AS vent
        ON ie.stay_id = vent.stay_id
        AND bg.charttime >= vent.starttime
        AND bg.charttime <= vent.endtime
        AND vent.ventilation_status = 'InvasiveVent'
),

gas_points AS (
    SELECT
        stay_id,
        -- breathing unaided with little oxygen (room air when nothing is charted): PaO2, mmHg
        CASE WHEN NOT ventilated AND COALESCE(fio2, 21) < 50 THEN po2 END AS pao2,
        -- ventilated with much oxygen: alveolar-arterial difference as measured, mmHg
        CASE WHEN ventilated AND fio2 >= 50 THEN aado2 END AS aado2,
        -- pH and PaCO2 (mmHg) together
        CASE
            WHEN ph IS NULL OR pco2 IS NULL THEN NULL
            WHEN ph < 7.20 THEN CASE WHEN pco2 < 50 THEN 12 ELSE 4 END
            WHEN ph < 7.30
                THEN CASE
                    WHEN pco2 < 30 THEN 9
                    WHEN pco2 < 40 THEN 6
                    WHEN pco2 < 50 THEN 3
                    ELSE 2
                END
            WHEN ph < 7.35
                THEN CASE
                    WHEN pco2 < 30 THEN 9
                    WHEN pco2 < 45 THEN 0
                    ELSE 1
                END
            WHEN ph < 7.45
                THEN CASE
                    WHEN pco2 < 30 THEN 5
                    WHEN pco2 < 45 THEN 0
                    ELSE 1
                END
            WHEN ph < 7.50
                THEN CASE
                    WHEN pco2 < 30 THEN 5
                    WHEN pco2 < 35 THEN 0
                    WHEN pco2 < 45 THEN 2
                    ELSE 12
                END
            WHEN ph < 7.60 THEN CASE WHEN pco2 < 40 THEN 3 ELSE 12 END
            ELSE CASE
                WHEN pco2 < 25 THEN 0
                WHEN pco2 < 40 THEN 3
                ELSE 12
            END
        END AS acidbase_points
    FROM gas
),

gas_of_stay AS (
    SELECT
        stay_id,
        MAX(pao2) AS pao2,
        MAX(aado2) AS aado2,
        MAX(acidbase_points) AS acidbase_points
    FROM gas_points
    GROUP BY stay_id
),

advanced_ckd AS (
    -- chronic kidney disease stage 4 or higher, dialysis; an admission without diagnoses has no row
    SELECT
        hadm_id,
        MAX(CASE
            WHEN icd_version = 9 AND SUBSTR(icd_code, 1, 4) IN ('5854', '5855', '5856') THEN 1
            WHEN icd_version = 10 AND SUBSTR(icd_code, 1, 4) IN ('N184', 'N185', 'N186') THEN 1
            ELSE 0
        END) AS ckd
    FROM mimiciv_hosp.diagnoses_icd
    GROUP BY hadm_id
),

ventilated_day1 AS (
    -- invasive ventilation that begins on, ends on or spans the first ICU day
    SELECT DISTINCT ie.stay_id
    FROM mimiciv_icu.icustays AS ie
    INNER JOIN mimiciv_derived.ventilation AS vent
        ON ie.stay_id = vent.stay_id
        AND vent.ventilation_status = 'InvasiveVent'
    WHERE
        (vent.starttime >= ie.intime AND vent.starttime <= ie.intime + INTERVAL '1' DAY)
        OR (vent.endtime >= ie.intime AND vent.endtime <= ie.intime + INTERVAL '1' DAY)
        OR (vent.starttime <= ie.intime AND vent.endtime >= ie.intime + INTERVAL '1' DAY)
),

cohort AS (
    SELECT
        ie.stay_id,
        ventilated_day1.stay_id IS NOT NULL AS ventilated,
        -- acute renal failure: creatinine 1.5 mg/dL or more, under 410 mL of urine, no advanced CKD
        COALESCE(
            labs.creatinine_max >= 1.5 AND urine.urineoutput < 410 AND advanced_ckd.ckd = 0, FALSE
        ) AS arf
    FROM mimiciv_icu.icustays AS ie
    INNER JOIN mimiciv_hosp.admissions AS adm ON ie.hadm_id = adm.hadm_id
    INNER JOIN mimiciv_hosp.patients AS pat ON ie.subject_id = pat.subject_id
    LEFT JOIN ventilated_day1 ON ie.stay_id = ventilated_day1.stay_id
    LEFT JOIN advanced_ckd ON ie.hadm_id = advanced_ckd.hadm_id
    LEFT JOIN mimiciv_derived.first_day_lab AS labs ON ie.stay_id = labs.stay_id
    LEFT JOIN mimiciv_derived.first_day_urine_output AS urine ON ie.stay_id = urine.stay_id
),

extremes AS (
    -- two rows per stay: the lowest and the highest values of the day
    SELECT
        cohort.stay_id,
        cohort.ventilated,
        cohort.arf,
        FALSE AS is_highest,
        vitals.heart_rate_min AS heart_rate,
        vitals.mbp_min AS mbp,
        vitals.temperature_min AS temperature,
        vitals.resp_rate_min AS resp_rate,
        labs.hematocrit_min AS hematocrit,
        labs.wbc_min AS wbc,
        labs.creatinine_min AS creatinine,
        labs.sodium_min AS sodium,
        labs.albumin_min AS albumin,
        LEAST(labs.glucose_min, vitals.glucose_min) AS glucose  -- laboratory and bedside together
    FROM cohort
    LEFT JOIN mimiciv_derived.first_day_vitalsign AS vitals ON cohort.stay_id = vitals.stay_id
    LEFT JOIN mimiciv_derived.first_day_lab AS labs ON cohort.stay_id = labs.stay_id
    UNION ALL
    SELECT
        cohort.stay_id,
        cohort.ventilated,
        cohort.arf,
        TRUE AS is_highest,
        vitals.heart_rate_max AS heart_rate,
        vitals.mbp_max AS mbp,
        vitals.temperature_max AS temperature,
        vitals.resp_rate_max AS resp_rate,
        labs.hematocrit_max AS hematocrit,
        labs.wbc_max AS wbc,
        labs.creatinine_max AS creatinine,
        labs.sodium_max AS sodium,
        labs.albumin_max AS albumin,
        GREATEST(labs.glucose_max, vitals.glucose_max) AS glucose
    FROM cohort
    LEFT JOIN mimiciv_derived.first_day_vitalsign AS vitals ON cohort.stay_id = vitals.stay_id
    LEFT JOIN mimiciv_derived.first_day_lab AS labs ON cohort.stay_id = labs.stay_id
),

extreme_points AS (
    -- In each list the first line that holds decides. The distance is from the value taken as normal.
    SELECT
        stay_id,
        arf,
        is_highest,
        ABS(heart_rate - 75) AS hr_distance,
        CASE
            WHEN heart_rate < 40 THEN 8  -- beats/min
            WHEN heart_rate < 50 THEN 5
            WHEN heart_rate < 100 THEN 0
            WHEN heart_rate < 110 THEN 1
            WHEN heart_rate < 120 THEN 5
            WHEN heart_rate < 140 THEN 7
            WHEN heart_rate < 155 THEN 13
            WHEN heart_rate >= 155 THEN 17
        END AS hr_points,
        ABS(mbp - 90) AS mbp_distance,
        CASE
            WHEN mbp < 40 THEN 23  -- mmHg
            WHEN mbp < 60 THEN 15
            WHEN mbp < 70 THEN 7
            WHEN mbp < 80 THEN 6
            WHEN mbp < 100 THEN 0
            WHEN mbp < 120 THEN 4
            WHEN mbp < 130 THEN 7
            WHEN mbp < 140 THEN 9
            WHEN mbp >= 140 THEN 10
        END AS mbp_points,
        ABS(temperature - 38) AS temp_distance,
        CASE
            WHEN temperature < 33.0 THEN 20  -- °C
            WHEN temperature < 33.5 THEN 16
            WHEN temperature < 34.0 THEN 13
            WHEN temperature < 35.0 THEN 8
            WHEN temperature < 36.0 THEN 2
            WHEN temperature < 40.0 THEN 0
            WHEN temperature >= 40.0 THEN 4
        END AS temp_points,
        ABS(resp_rate - 19) AS resp_rate_distance,
        CASE
            WHEN ventilated AND resp_rate < 14 THEN 0  -- breaths/min; set by the ventilator
            WHEN resp_rate < 6 THEN 17
            WHEN resp_rate < 12 THEN 8
            WHEN resp_rate < 14 THEN 7
            WHEN resp_rate < 25 THEN 0
            WHEN resp_rate < 35 THEN 6
            WHEN resp_rate < 40 THEN 9
            WHEN resp_rate < 50 THEN 11
            WHEN resp_rate >= 50 THEN 18
        END AS resp_rate_points,
        ABS(hematocrit - 45.5) AS hematocrit_distance,
        CASE
            WHEN hematocrit < 41.0 THEN 3  -- %
            WHEN hematocrit < 50.0 THEN 0
            WHEN hematocrit >= 50.0 THEN 3
        END AS hematocrit_points,
        ABS(wbc - 11.5) AS wbc_distance,
        CASE
            WHEN wbc < 1.0 THEN 19  -- K/µL
            WHEN wbc < 3.0 THEN 5
            WHEN wbc < 20.0 THEN 0
            WHEN wbc < 25.0 THEN 1
            WHEN wbc >= 25.0 THEN 5
        END AS wbc_points,
        ABS(creatinine - 1) AS creatinine_distance,
        CASE
            WHEN arf AND creatinine < 1.5 THEN 0  -- mg/dL
            WHEN arf AND creatinine >= 1.5 THEN 10
            WHEN creatinine < 0.5 THEN 3
            WHEN creatinine < 1.5 THEN 0
            WHEN creatinine < 1.95 THEN 4
            WHEN creatinine >= 1.95 THEN 7
        END AS creatinine_points,
        ABS(sodium - 145.5) AS sodium_distance,
        CASE
            WHEN sodium < 120 THEN 3  -- mEq/L
            WHEN sodium < 135 THEN 2
            WHEN sodium < 155 THEN 0
            WHEN sodium >= 155 THEN 4
        END AS sodium_points,
        ABS(albumin - 3.5) AS albumin_distance,
        CASE
            WHEN albumin < 2.0 THEN 11  -- g/dL
            WHEN albumin < 2.5 THEN 6
            WHEN albumin < 4.5 THEN 0
            WHEN albumin >= 4.5 THEN 4
        END AS albumin_points,
        ABS(glucose - 130) AS glucose_distance,
        CASE
            WHEN glucose < 40 THEN 8  -- mg/dL
            WHEN glucose < 60 THEN 9
            WHEN glucose < 200 THEN 0
            WHEN glucose < 350 THEN 3
            WHEN glucose >= 350 THEN 5
        END AS glucose_points
    FROM extremes
),

worst AS (
    -- the points of the value further from normal; at equal distance the higher points
    SELECT
        stay_id,
        FIRST(hr_points ORDER BY hr_distance DESC, hr_points DESC) AS hr_score,
        FIRST(mbp_points ORDER BY mbp_distance DESC, mbp_points DESC) AS mbp_score,
        FIRST(temp_points ORDER BY temp_distance DESC, temp_points DESC) AS temp_score,
        FIRST(resp_rate_points ORDER BY resp_rate_distance DESC, resp_rate_points DESC) AS resp_rate_score,
        FIRST(hematocrit_points ORDER BY hematocrit_distance DESC, hematocrit_points DESC) AS hematocrit_score,
        FIRST(wbc_points ORDER BY wbc_distance DESC, wbc_points DESC) AS wbc_score,
        -- in acute renal failure always the highest value
        FIRST(
            creatinine_points ORDER BY arf AND is_highest DESC, creatinine_distance DESC, creatinine_points DESC
        ) AS creatinine_score,
        FIRST(sodium_points ORDER BY sodium_distance DESC, sodium_points DESC) AS sodium_score,
        FIRST(albumin_points ORDER BY albumin_distance DESC, albumin_points DESC) AS albumin_score,
        FIRST(glucose_points ORDER BY glucose_distance DESC, glucose_points DESC) AS glucose_score
    FROM extreme_points
    GROUP BY stay_id
),

scored AS (
    SELECT
        worst.*,
        CASE
            WHEN gas.pao2 < 50 THEN 15  -- mmHg
            WHEN gas.pao2 < 70 THEN 5
            WHEN gas.pao2 < 80 THEN 2
            WHEN gas.pao2 >= 80 THEN 0
            WHEN gas.aado2 < 100 THEN 0  -- mmHg, only without a usable PaO2
            WHEN gas.aado2 < 250 THEN 7
            WHEN gas.aado2 < 350 THEN 9
            WHEN gas.aado2 < 500 THEN 11
            WHEN gas.aado2 >= 500 THEN 14
        END AS pao2_aado2_score,
        CASE
            WHEN urine.urineoutput < 400 THEN 15  -- mL
            WHEN urine.urineoutput < 600 THEN 8
            WHEN urine.urineoutput < 900 THEN 7
            WHEN urine.urineoutput < 1500 THEN 5
            WHEN urine.urineoutput < 2000 THEN 4
            WHEN urine.urineoutput < 4000 THEN 0
            WHEN urine.urineoutput >= 4000 THEN 1
        END AS uo_score,
        CASE
            WHEN labs.bun_max < 17.0 THEN 0  -- mg/dL, highest only
            WHEN labs.bun_max < 20.0 THEN 2
            WHEN labs.bun_max < 40.0 THEN 7
            WHEN labs.bun_max < 80.0 THEN 11
            WHEN labs.bun_max >= 80.0 THEN 12
        END AS bun_score,
        CASE
            WHEN labs.bilirubin_total_max < 2.0 THEN 0  -- mg/dL, highest only
            WHEN labs.bilirubin_total_max < 3.0 THEN 5
            WHEN labs.bilirubin_total_max < 5.0 THEN 6
            WHEN labs.bilirubin_total_max < 8.0 THEN 8
            WHEN labs.bilirubin_total_max >= 8.0 THEN 16
        END AS bilirubin_score,
        gas.acidbase_points AS acidbase_score,
        -- eyes, verbal and motor response together; a combination that is not listed has no points
        CASE
            WHEN coma.gcs_unable = 1 THEN 0  -- intubated
            WHEN coma.gcs_eyes = 1
                THEN CASE
                    WHEN coma.gcs_verbal = 1 AND coma.gcs_motor IN (1, 2) THEN 48
                    WHEN coma.gcs_verbal = 1 AND coma.gcs_motor IN (3, 4) THEN 33
                    WHEN coma.gcs_verbal = 1 AND coma.gcs_motor IN (5, 6) THEN 16
                    WHEN coma.gcs_verbal IN (2, 3) AND coma.gcs_motor IN (1, 2) THEN 29
                    WHEN coma.gcs_verbal IN (2, 3) AND coma.gcs_motor IN (3, 4) THEN 24
                END
            WHEN coma.gcs_eyes > 1
                THEN CASE
                    WHEN coma.gcs_verbal = 1 AND coma.gcs_motor IN (1, 2) THEN 29
                    WHEN coma.gcs_verbal = 1 AND coma.gcs_motor IN (3, 4) THEN 24
                    WHEN coma.gcs_verbal = 1 AND coma.gcs_motor IN (5, 6) THEN 15
                    WHEN coma.gcs_verbal IN (2, 3) AND coma.gcs_motor IN (1, 2) THEN 29
                    WHEN coma.gcs_verbal IN (2, 3) AND coma.gcs_motor IN (3, 4) THEN 24
                    WHEN coma.gcs_verbal IN (2, 3) AND coma.gcs_motor = 5 THEN 13
                    WHEN coma.gcs_verbal IN (2, 3) AND coma.gcs_motor = 6 THEN 10
                    WHEN coma.gcs_verbal = 4 AND coma.gcs_motor IN (1, 2, 3, 4) THEN 13
                    WHEN coma.gcs_verbal = 4 AND coma.gcs_motor = 5 THEN 8
                    WHEN coma.gcs_verbal = 4 AND coma.gcs_motor = 6 THEN 3
                    WHEN coma.gcs_verbal = 5 AND coma.gcs_motor IN (1, 2, 3, 4, 5) THEN 3
                    WHEN coma.gcs_verbal = 5 AND coma.gcs_motor = 6 THEN 0
                END
        END AS gcs_score
    FROM worst
    LEFT JOIN gas_of_stay AS gas ON worst.stay_id = gas.stay_id
    LEFT JOIN mimiciv_derived.first_day_urine_output AS urine ON worst.stay_id = urine.stay_id
    LEFT JOIN mimiciv_derived.first_day_lab AS labs ON worst.stay_id = labs.stay_id
    LEFT JOIN mimiciv_derived.first_day_gcs AS coma ON worst.stay_id = coma.stay_id
),

summed AS (
    SELECT
        *,
        COALESCE(hr_score, 0)
        + COALESCE(mbp_score, 0)
        + COALESCE(temp_score, 0)
        + COALESCE(resp_rate_score, 0)
        + COALESCE(pao2_aado2_score, 0)
        + COALESCE(hematocrit_score, 0)
        + COALESCE(wbc_score, 0)
        + COALESCE(creatinine_score, 0)
        + COALESCE(uo_score, 0)
        + COALESCE(bun_score, 0)
        + COALESCE(sodium_score, 0)
        + COALESCE(albumin_score, 0)
        + COALESCE(bilirubin_score, 0)
        + COALESCE(glucose_score, 0)
        + COALESCE(acidbase_score, 0)
        + COALESCE(gcs_score, 0) AS apsiii
    FROM scored
)

SELECT
    ie.subject_id,
    ie.hadm_id,
    ie.stay_id,
    summed.apsiii,
    1 / (1 + EXP(-(-4.4360 + 0.04726 * CAST(summed.apsiii AS DOUBLE)))) AS apsiii_prob,
    summed.hr_score,
    summed.mbp_score,
    summed.temp_score,
    summed.resp_rate_score,
    summed.pao2_aado2_score,
    summed.hematocrit_score,
    summed.wbc_score,
    summed.creatinine_score,
    summed.uo_score,
    summed.bun_score,
    summed.sodium_score,
    summed.albumin_score,
    summed.bilirubin_score,
    summed.glucose_score,
    summed.acidbase_score,
    summed.gcs_score
FROM mimiciv_icu.icustays AS ie
LEFT JOIN summed ON ie.stay_id = summed.stay_id
