-- APS III, the acute physiology part of APACHE III, of the first ICU day: 16 components and their sum.
-- Grain: one row per ICU stay. A component without data scores 0.
-- Window: intime - 6 h to intime + 24 h, both ends included; urine intime to intime + 24 h; arterial gases from intime
-- (included) to the earlier of discharge and intime + 24 h (excluded).
-- Units: pressures and gases mmHg, temperature deg C, creatinine, urea nitrogen, bilirubin and glucose mg/dL, albumin g/dL,
-- sodium mEq/L, cells 10^9/L, haematocrit percent, FiO2 percent, urine mL.
-- Worst value: of minimum and maximum the one further from a normal value; equally far, the one with more points.
-- Source: Knaus WA et al., Chest 1991;100:1619-1636, with two known departures of the public MIMIC-IV concept kept on
-- purpose: ventilated breathing below 14 scores 0, and oxygenation counts only as (ventilated, FiO2 >= 50) or
-- (not ventilated, FiO2 < 50).
WITH band (variable, from_value, below_value, points) AS (
    -- from_value included, below_value excluded; NULL leaves that side open
    VALUES
        ('heart_rate', NULL, 40, 8), ('heart_rate', 40, 50, 5), ('heart_rate', 50, 100, 0),
        ('heart_rate', 100, 110, 1), ('heart_rate', 110, 120, 5), ('heart_rate', 120, 140, 7),
        ('heart_rate', 140, 155, 13), ('heart_rate', 155, NULL, 17),

        ('mean_pressure', NULL, 40, 23), ('mean_pressure', 40, 60, 15), ('mean_pressure', 60, 70, 7),
        ('mean_pressure', 70, 80, 6), ('mean_pressure', 80, 100, 0), ('mean_pressure', 100, 120, 4),
        ('mean_pressure', 120, 130, 7), ('mean_pressure', 130, 140, 9), ('mean_pressure', 140, NULL, 10),

        ('temperature', NULL, 33.0, 20), ('temperature', 33.0, 33.5, 16), ('temperature', 33.5, 34.0, 13),
        ('temperature', 34.0, 35.0, 8), ('temperature', 35.0, 36.0, 2), ('temperature', 36.0, 40.0, 0),
        ('temperature', 40.0, NULL, 4),

        ('breathing', NULL, 6, 17), ('breathing', 6, 12, 8), ('breathing', 12, 14, 7), ('breathing', 14, 25, 0),
        ('breathing', 25, 35, 6), ('breathing', 35, 40, 9), ('breathing', 40, 50, 11), ('breathing', 50, NULL, 18),

        ('ventilated_breathing', NULL, 25, 0), ('ventilated_breathing', 25, 35, 6), ('ventilated_breathing', 35, 40, 9),
        ('ventilated_breathing', 40, 50, 11), ('ventilated_breathing', 50, NULL, 18),

        ('haematocrit', NULL, 41, 3), ('haematocrit', 41, 50, 0), ('haematocrit', 50, NULL, 3),

        ('white_cells', NULL, 1.0, 19), ('white_cells', 1.0, 3.0, 5), ('white_cells', 3.0, 20.0, 0),
        ('white_cells', 20.0, 25.0, 1), ('white_cells', 25.0, NULL, 5),

        ('creatinine', NULL, 0.5, 3), ('creatinine', 0.5, 1.5, 0), ('creatinine', 1.5, 1.95, 4),
        ('creatinine', 1.95, NULL, 7),

        ('creatinine_in_renal_failure', NULL, 1.5, 0), ('creatinine_in_renal_failure', 1.5, NULL, 10),

        ('sodium', NULL, 120, 3), ('sodium', 120, 135, 2), ('sodium', 135, 155, 0), ('sodium', 155, NULL, 4),

        ('albumin', NULL, 2.0, 11), ('albumin', 2.0, 2.5, 6), ('albumin', 2.5, 4.5, 0), ('albumin', 4.5, NULL, 4),

        ('glucose', NULL, 40, 8), ('glucose', 40, 60, 9), ('glucose', 60, 200, 0), ('glucose', 200, 350, 3),
        ('glucose', 350, NULL, 5),

        ('urea_nitrogen', NULL, 17, 0), ('urea_nitrogen', 17, 20, 2), ('urea_nitrogen', 20, 40, 7),
        ('urea_nitrogen', 40, 80, 11), ('urea_nitrogen', 80, NULL, 12),

        ('bilirubin', NULL, 2.0, 0), ('bilirubin', 2.0, 3.0, 5), ('bilirubin', 3.0, 5.0, 6), ('bilirubin', 5.0, 8.0, 8),
        ('bilirubin', 8.0, NULL, 16),

        ('urine', NULL, 400, 15), ('urine', 400, 600, 8), ('urine', 600, 900, 7), ('urine', 900, 1500, 5),
        ('urine', 1500, 2000, 4), ('urine', 2000, 4000, 0), ('urine', 4000, NULL, 1),

        ('arterial_po2', NULL, 50, 15), ('arterial_po2', 50, 70, 5), ('arterial_po2', 70, 80, 2),
        ('arterial_po2', 80, NULL, 0),

        ('oxygen_gradient', NULL, 100, 0), ('oxygen_gradient', 100, 250, 7), ('oxygen_gradient', 250, 350, 9),
        ('oxygen_gradient', 350, 500, 11), ('oxygen_gradient', 500, NULL, 14)
),

stay AS (
    SELECT
        icu.subject_id,
        icu.hadm_id,
        icu.stay_id,
        icu.intime,
        LEAST(icu.outtime, icu.intime + INTERVAL 24 HOUR) AS gas_end
    FROM mimiciv_icu.icustays AS icu
    INNER JOIN mimiciv_hosp.admissions AS admission ON admission.hadm_id = icu.hadm_id
    INNER JOIN mimiciv_hosp.patients AS patient ON patient.subject_id = icu.subject_id
),

ventilated AS (
    SELECT DISTINCT stay.stay_id
    FROM stay
    INNER JOIN mimiciv_derived.ventilation AS vent ON vent.stay_id = stay.stay_id
    WHERE vent.ventilation_status = 'InvasiveVent'
        AND (
            vent.starttime BETWEEN stay.intime AND stay.intime + INTERVAL 24 HOUR
            OR vent.endtime BETWEEN stay.intime AND stay.intime + INTERVAL 24 HOUR
            OR (vent.starttime <= stay.intime AND vent.endtime >= stay.intime + INTERVAL 24 HOUR)
        )
),

arterial_gas AS (
    SELECT
        stay.stay_id,
        gas.po2,
        gas.aado2,
        gas.ph,
        gas.pco2,
        COALESCE(gas.fio2, gas.fio2_chartevents) AS fio2,
        CASE WHEN vent.stay_id IS NOT NULL THEN 1 ELSE 0 END AS ventilated
    FROM stay
    INNER JOIN mimiciv_derived.bg AS gas
        ON gas.hadm_id = stay.hadm_id
        AND gas.charttime >= stay.intime
        AND gas.charttime < stay.gas_end
    LEFT JOIN mimiciv_derived.ventilation AS vent
        ON vent.stay_id = stay.stay_id
        AND vent.ventilation_status = 'InvasiveVent'
        AND gas.charttime BETWEEN vent.starttime AND vent.endtime
    WHERE gas.specimen = 'ART.'
),

oxygenation AS (
    SELECT
        stay_id,
        MAX(CASE WHEN ventilated = 0 AND COALESCE(fio2, 21) < 50 THEN po2 END) AS po2_max,
        MAX(CASE WHEN ventilated = 1 AND fio2 >= 50 THEN aado2 END) AS aado2_max
    FROM arterial_gas
    GROUP BY stay_id
),

acid_base AS (
    SELECT
        stay_id,
        MAX(CASE
            WHEN ph < 7.20 THEN CASE WHEN pco2 < 50 THEN 12 ELSE 4 END
            WHEN ph < 7.30 THEN CASE WHEN pco2 < 30 THEN 9 WHEN pco2 < 40 THEN 6 WHEN pco2 < 50 THEN 3 ELSE 2 END
            WHEN ph < 7.35 THEN CASE WHEN pco2 < 30 THEN 9 WHEN pco2 < 45 THEN 0 ELSE 1 END
            WHEN ph < 7.45 THEN CASE WHEN pco2 < 30 THEN 5 WHEN pco2 < 45 THEN 0 ELSE 1 END
            WHEN ph < 7.50 THEN CASE WHEN pco2 < 30 THEN 5 WHEN pco2 < 35 THEN 0 WHEN pco2 < 45 THEN 2 ELSE 12 END
            WHEN ph < 7.60 THEN CASE WHEN pco2 < 40 THEN 3 ELSE 12 END
            ELSE CASE WHEN pco2 < 25 THEN 0 WHEN pco2 < 40 THEN 3 ELSE 12 END
        END) AS points
    FROM arterial_gas
    WHERE ph IS NOT NULL AND pco2 IS NOT NULL
    GROUP BY stay_id
),

-- 1 when stage 4 to 6 kidney disease is coded; an admission without any diagnosis has no row
kidney_disease AS (
    SELECT
        hadm_id,
        MAX(CASE
            WHEN icd_version = 9 AND SUBSTR(icd_code, 1, 4) IN ('5854', '5855', '5856') THEN 1
            WHEN icd_version = 10 AND SUBSTR(icd_code, 1, 4) IN ('N184', 'N185', 'N186') THEN 1
            ELSE 0
        END) AS advanced
    FROM mimiciv_hosp.diagnoses_icd
    GROUP BY hadm_id
),

renal_failure AS (
    SELECT stay.stay_id
    FROM stay
    INNER JOIN mimiciv_derived.first_day_lab AS lab ON lab.stay_id = stay.stay_id
    INNER JOIN mimiciv_derived.first_day_urine_output AS urine ON urine.stay_id = stay.stay_id
    INNER JOIN kidney_disease ON kidney_disease.hadm_id = stay.hadm_id
    WHERE lab.creatinine_max >= 1.5 AND urine.urineoutput < 410 AND kidney_disease.advanced = 0
),

-- lowest and highest value of each variable with their distances from normal; variables scored by one value have no lowest
measured AS (
    SELECT
        stay_id,
        'heart_rate' AS variable,
        heart_rate_min AS lowest,
        heart_rate_max AS highest,
        ABS(heart_rate_min - 75) AS lowest_distance,
        ABS(heart_rate_max - 75) AS highest_distance
    FROM mimiciv_derived.first_day_vitalsign
    UNION ALL
    SELECT stay_id, 'mean_pressure', mbp_min, mbp_max, ABS(mbp_min - 90), ABS(mbp_max - 90)
    FROM mimiciv_derived.first_day_vitalsign
    UNION ALL
    -- temperature distances are exact decimals
    SELECT
        stay_id,
        'temperature',
        temperature_min,
        temperature_max,
        ABS(CAST(temperature_min AS DECIMAL(18, 2)) - 38),
        ABS(CAST(temperature_max AS DECIMAL(18, 2)) - 38)
    FROM mimiciv_derived.first_day_vitalsign
    UNION ALL
    SELECT
        vital.stay_id,
        CASE WHEN ventilated.stay_id IS NOT NULL THEN 'ventilated_breathing' ELSE 'breathing' END,
        vital.resp_rate_min,
        vital.resp_rate_max,
        ABS(vital.resp_rate_min - 19),
        ABS(vital.resp_rate_max - 19)
    FROM mimiciv_derived.first_day_vitalsign AS vital
    LEFT JOIN ventilated ON ventilated.stay_id = vital.stay_id
    UNION ALL
    SELECT stay_id, 'haematocrit', hematocrit_min, hematocrit_max, ABS(hematocrit_min - 45.5), ABS(hematocrit_max - 45.5)
    FROM mimiciv_derived.first_day_lab
    UNION ALL
    SELECT stay_id, 'white_cells', wbc_min, wbc_max, ABS(wbc_min - 11.5), ABS(wbc_max - 11.5)
    FROM mimiciv_derived.first_day_lab
    UNION ALL
    SELECT
        lab.stay_id,
        'creatinine',
        lab.creatinine_min,
        lab.creatinine_max,
        ABS(lab.creatinine_min - 1),
        ABS(lab.creatinine_max - 1)
    FROM mimiciv_derived.first_day_lab AS lab
    LEFT JOIN renal_failure ON renal_failure.stay_id = lab.stay_id
    WHERE renal_failure.stay_id IS NULL
    UNION ALL
    SELECT lab.stay_id, 'creatinine_in_renal_failure', NULL, lab.creatinine_max, NULL, NULL
    FROM mimiciv_derived.first_day_lab AS lab
    INNER JOIN renal_failure ON renal_failure.stay_id = lab.stay_id
    UNION ALL
    SELECT stay_id, 'sodium', sodium_min, sodium_max, ABS(sodium_min - 145.5), ABS(sodium_max - 145.5)
    FROM mimiciv_derived.first_day_lab
    UNION ALL
    SELECT stay_id, 'albumin', albumin_min, albumin_max, ABS(albumin_min - 3.5), ABS(albumin_max - 3.5)
    FROM mimiciv_derived.first_day_lab
    UNION ALL
    -- laboratory and bedside glucose together; LEAST and GREATEST pass over a missing one
    SELECT
        stay.stay_id,
        'glucose',
        LEAST(lab.glucose_min, vital.glucose_min),
        GREATEST(lab.glucose_max, vital.glucose_max),
        ABS(LEAST(lab.glucose_min, vital.glucose_min) - 130),
        ABS(GREATEST(lab.glucose_max, vital.glucose_max) - 130)
    FROM stay
    LEFT JOIN mimiciv_derived.first_day_lab AS lab ON lab.stay_id = stay.stay_id
    LEFT JOIN mimiciv_derived.first_day_vitalsign AS vital ON vital.stay_id = stay.stay_id
    UNION ALL
    SELECT stay_id, 'urea_nitrogen', NULL, bun_max, NULL, NULL
    FROM mimiciv_derived.first_day_lab
    UNION ALL
    SELECT stay_id, 'bilirubin', NULL, bilirubin_total_max, NULL, NULL
    FROM mimiciv_derived.first_day_lab
    UNION ALL
    SELECT stay_id, 'urine', NULL, urineoutput, NULL, NULL
    FROM mimiciv_derived.first_day_urine_output
    UNION ALL
    SELECT stay_id, 'arterial_po2', NULL, po2_max, NULL, NULL
    FROM oxygenation
    UNION ALL
    -- the gradient counts only where no PaO2 does
    SELECT stay_id, 'oxygen_gradient', NULL, aado2_max, NULL, NULL
    FROM oxygenation
    WHERE po2_max IS NULL
),

worst AS (
    SELECT
        measured.stay_id,
        measured.variable,
        CASE
            WHEN measured.highest_distance > measured.lowest_distance THEN highest_band.points
            WHEN measured.highest_distance < measured.lowest_distance THEN lowest_band.points
            ELSE GREATEST(highest_band.points, lowest_band.points)
        END AS points
    FROM measured
    LEFT JOIN band AS lowest_band
        ON lowest_band.variable = measured.variable
        AND (lowest_band.from_value IS NULL OR measured.lowest >= lowest_band.from_value)
        AND (lowest_band.below_value IS NULL OR measured.lowest < lowest_band.below_value)
        AND measured.lowest IS NOT NULL
    LEFT JOIN band AS highest_band
        ON highest_band.variable = measured.variable
        AND (highest_band.from_value IS NULL OR measured.highest >= highest_band.from_value)
        AND (highest_band.below_value IS NULL OR measured.highest < highest_band.below_value)
        AND measured.highest IS NOT NULL
),

banded AS (
    SELECT
        stay_id,
        MAX(CASE WHEN variable = 'heart_rate' THEN points END) AS hr_score,
        MAX(CASE WHEN variable = 'mean_pressure' THEN points END) AS mbp_score,
        MAX(CASE WHEN variable = 'temperature' THEN points END) AS temp_score,
        MAX(CASE WHEN variable IN ('breathing', 'ventilated_breathing') THEN points END) AS resp_rate_score,
        MAX(CASE WHEN variable IN ('arterial_po2', 'oxygen_gradient') THEN points END) AS pao2_aado2_score,
        MAX(CASE WHEN variable = 'haematocrit' THEN points END) AS hematocrit_score,
        MAX(CASE WHEN variable = 'white_cells' THEN points END) AS wbc_score,
        MAX(CASE WHEN variable IN ('creatinine', 'creatinine_in_renal_failure') THEN points END) AS creatinine_score,
        MAX(CASE WHEN variable = 'urine' THEN points END) AS uo_score,
        MAX(CASE WHEN variable = 'urea_nitrogen' THEN points END) AS bun_score,
        MAX(CASE WHEN variable = 'sodium' THEN points END) AS sodium_score,
        MAX(CASE WHEN variable = 'albumin' THEN points END) AS albumin_score,
        MAX(CASE WHEN variable = 'bilirubin' THEN points END) AS bilirubin_score,
        MAX(CASE WHEN variable = 'glucose' THEN points END) AS glucose_score
    FROM worst
    GROUP BY stay_id
),

-- eyes by verbal by motor response; combinations that the chart leaves out score 0, as does an untestable patient
coma AS (
    SELECT
        stay_id,
        CASE
            WHEN gcs_unable = 1 THEN 0
            WHEN gcs_eyes = 1 AND gcs_verbal = 1 THEN
                CASE WHEN gcs_motor IN (1, 2) THEN 48 WHEN gcs_motor IN (3, 4) THEN 33 WHEN gcs_motor IN (5, 6) THEN 16 END
            WHEN gcs_eyes = 1 AND gcs_verbal IN (2, 3) THEN
                CASE WHEN gcs_motor IN (1, 2) THEN 29 WHEN gcs_motor IN (3, 4) THEN 24 END
            WHEN gcs_eyes > 1 AND gcs_verbal = 1 THEN
                CASE WHEN gcs_motor IN (1, 2) THEN 29 WHEN gcs_motor IN (3, 4) THEN 24 WHEN gcs_motor IN (5, 6) THEN 15 END
            WHEN gcs_eyes > 1 AND gcs_verbal IN (2, 3) THEN
                CASE
                    WHEN gcs_motor IN (1, 2) THEN 29
                    WHEN gcs_motor IN (3, 4) THEN 24
                    WHEN gcs_motor = 5 THEN 13
                    WHEN gcs_motor = 6 THEN 10
                END
            WHEN gcs_eyes > 1 AND gcs_verbal = 4 THEN
                CASE
                    WHEN gcs_motor IN (1, 2, 3, 4) THEN 13
                    WHEN gcs_motor = 5 THEN 8
                    WHEN gcs_motor = 6 THEN 3
                END
            WHEN gcs_eyes > 1 AND gcs_verbal = 5 THEN
                CASE WHEN gcs_motor IN (1, 2, 3, 4, 5) THEN 3 WHEN gcs_motor = 6 THEN 0 END
        END AS points
    FROM mimiciv_derived.first_day_gcs
),

scored AS (
    SELECT
        stay.stay_id,
        COALESCE(banded.hr_score, 0) AS hr_score,
        COALESCE(banded.mbp_score, 0) AS mbp_score,
        COALESCE(banded.temp_score, 0) AS temp_score,
        COALESCE(banded.resp_rate_score, 0) AS resp_rate_score,
        COALESCE(banded.pao2_aado2_score, 0) AS pao2_aado2_score,
        COALESCE(banded.hematocrit_score, 0) AS hematocrit_score,
        COALESCE(banded.wbc_score, 0) AS wbc_score,
        COALESCE(banded.creatinine_score, 0) AS creatinine_score,
        COALESCE(banded.uo_score, 0) AS uo_score,
        COALESCE(banded.bun_score, 0) AS bun_score,
        COALESCE(banded.sodium_score, 0) AS sodium_score,
        COALESCE(banded.albumin_score, 0) AS albumin_score,
        COALESCE(banded.bilirubin_score, 0) AS bilirubin_score,
        COALESCE(banded.glucose_score, 0) AS glucose_score,
        COALESCE(acid_base.points, 0) AS acidbase_score,
        COALESCE(coma.points, 0) AS gcs_score
    FROM stay
    LEFT JOIN banded ON banded.stay_id = stay.stay_id
    LEFT JOIN acid_base ON acid_base.stay_id = stay.stay_id
    LEFT JOIN coma ON coma.stay_id = stay.stay_id
)

-- a stay without admission or patient row keeps its row: components 0, total null
SELECT
    icu.subject_id,
    icu.hadm_id,
    icu.stay_id,
    scored.hr_score + scored.mbp_score + scored.temp_score + scored.resp_rate_score + scored.pao2_aado2_score
    + scored.hematocrit_score + scored.wbc_score + scored.creatinine_score + scored.uo_score + scored.bun_score
    + scored.sodium_score + scored.albumin_score + scored.bilirubin_score + scored.glucose_score
    + scored.acidbase_score + scored.gcs_score AS apsiii,
    COALESCE(scored.hr_score, 0) AS hr_score,
    COALESCE(scored.mbp_score, 0) AS mbp_score,
    COALESCE(scored.temp_score, 0) AS temp_score,
    COALESCE(scored.resp_rate_score, 0) AS resp_rate_score,
    COALESCE(scored.pao2_aado2_score, 0) AS pao2_aado2_score,
    COALESCE(scored.hematocrit_score, 0) AS hematocrit_score,
    COALESCE(scored.wbc_score, 0) AS wbc_score,
    COALESCE(scored.creatinine_score, 0) AS creatinine_score,
    COALESCE(scored.uo_score, 0) AS uo_score,
    COALESCE(scored.bun_score, 0) AS bun_score,
    COALESCE(scored.sodium_score, 0) AS sodium_score,
    COALESCE(scored.albumin_score, 0) AS albumin_score,
    COALESCE(scored.bilirubin_score, 0) AS bilirubin_score,
    COALESCE(scored.glucose_score, 0) AS glucose_score,
    COALESCE(scored.acidbase_score, 0) AS acidbase_score,
    COALESCE(scored.gcs_score, 0) AS gcs_score
FROM mimiciv_icu.icustays AS icu
LEFT JOIN scored ON scored.stay_id = icu.stay_id
