-- SOFA of the first ICU day: six organ scores of 0 to 4 and their sum.
-- Grain: one row per ICU stay. Missing organ data score 0.
-- Window: intime - 6 h to intime + 24 h, both ends included; urine output intime to intime + 24 h.
-- Units: PaO2/FiO2 mmHg, platelets 10^9/L, bilirubin and creatinine mg/dL, pressures mmHg, drug rates mcg/kg/min, urine mL.
-- Source: Vincent JL et al., Intensive Care Med 1996;22:707-710, with the conventions of the public MIMIC-IV concepts,
-- except that only arterial gases count.
WITH infusion AS (
    SELECT stay_id, starttime, 'norepinephrine' AS agent, vaso_rate FROM mimiciv_derived.norepinephrine
    UNION ALL
    SELECT stay_id, starttime, 'epinephrine' AS agent, vaso_rate FROM mimiciv_derived.epinephrine
    UNION ALL
    SELECT stay_id, starttime, 'dopamine' AS agent, vaso_rate FROM mimiciv_derived.dopamine
    UNION ALL
    SELECT stay_id, starttime, 'dobutamine' AS agent, vaso_rate FROM mimiciv_derived.dobutamine
),

-- highest rate of each drug; an infusion counts by its start alone
drug_rate AS (
    SELECT
        stay.stay_id,
        MAX(CASE WHEN infusion.agent = 'norepinephrine' THEN infusion.vaso_rate END) AS norepinephrine_max,
        MAX(CASE WHEN infusion.agent = 'epinephrine' THEN infusion.vaso_rate END) AS epinephrine_max,
        MAX(CASE WHEN infusion.agent = 'dopamine' THEN infusion.vaso_rate END) AS dopamine_max,
        MAX(CASE WHEN infusion.agent = 'dobutamine' THEN infusion.vaso_rate END) AS dobutamine_max
    FROM mimiciv_icu.icustays AS stay
    INNER JOIN infusion
        ON infusion.stay_id = stay.stay_id
        AND infusion.starttime BETWEEN stay.intime - INTERVAL 6 HOUR AND stay.intime + INTERVAL 24 HOUR
    GROUP BY stay.stay_id
),

-- lowest arterial PaO2/FiO2 with and without invasive ventilation at the time of the gas
oxygenation AS (
    SELECT
        stay.stay_id,
        MIN(CASE WHEN vent.stay_id IS NOT NULL THEN gas.pao2fio2ratio END) AS pf_vent,
        MIN(CASE WHEN vent.stay_id IS NULL THEN gas.pao2fio2ratio END) AS pf_novent
    FROM mimiciv_icu.icustays AS stay
    INNER JOIN mimiciv_derived.bg AS gas
        ON gas.subject_id = stay.subject_id
        AND gas.charttime BETWEEN stay.intime - INTERVAL 6 HOUR AND stay.intime + INTERVAL 24 HOUR
    LEFT JOIN mimiciv_derived.ventilation AS vent
        ON vent.stay_id = stay.stay_id
        AND vent.ventilation_status = 'InvasiveVent'
        AND gas.charttime BETWEEN vent.starttime AND vent.endtime
    WHERE gas.specimen = 'ART.'
    GROUP BY stay.stay_id
),

-- the first line that holds gives the points; a comparison with a missing value never holds
scored AS (
    SELECT
        stay.subject_id,
        stay.hadm_id,
        stay.stay_id,
        CASE
            WHEN oxygenation.pf_vent < 100 THEN 4
            WHEN oxygenation.pf_vent < 200 THEN 3
            WHEN oxygenation.pf_novent < 300 THEN 2
            WHEN oxygenation.pf_novent < 400 THEN 1
            ELSE 0
        END AS respiration,
        CASE
            WHEN lab.platelets_min < 20 THEN 4
            WHEN lab.platelets_min < 50 THEN 3
            WHEN lab.platelets_min < 100 THEN 2
            WHEN lab.platelets_min < 150 THEN 1
            ELSE 0
        END AS coagulation,
        CASE
            WHEN lab.bilirubin_total_max >= 12.0 THEN 4
            WHEN lab.bilirubin_total_max >= 6.0 THEN 3
            WHEN lab.bilirubin_total_max >= 2.0 THEN 2
            WHEN lab.bilirubin_total_max >= 1.2 THEN 1
            ELSE 0
        END AS liver,
        CASE
            WHEN drug_rate.dopamine_max > 15
                OR drug_rate.epinephrine_max > 0.1
                OR drug_rate.norepinephrine_max > 0.1 THEN 4
            WHEN drug_rate.dopamine_max > 5
                OR (drug_rate.epinephrine_max > 0 AND drug_rate.epinephrine_max <= 0.1)
                OR (drug_rate.norepinephrine_max > 0 AND drug_rate.norepinephrine_max <= 0.1) THEN 3
            WHEN drug_rate.dopamine_max > 0 OR drug_rate.dobutamine_max > 0 THEN 2
            WHEN vital.mbp_min < 70 THEN 1
            ELSE 0
        END AS cardiovascular,
        CASE
            WHEN coma.gcs_min BETWEEN 13 AND 14 THEN 1
            WHEN coma.gcs_min BETWEEN 10 AND 12 THEN 2
            WHEN coma.gcs_min BETWEEN 6 AND 9 THEN 3
            WHEN coma.gcs_min < 6 THEN 4
            ELSE 0
        END AS cns,
        CASE
            WHEN lab.creatinine_max >= 5.0 THEN 4
            WHEN urine.urineoutput < 200 THEN 4
            WHEN lab.creatinine_max >= 3.5 THEN 3
            WHEN urine.urineoutput < 500 THEN 3
            WHEN lab.creatinine_max >= 2.0 THEN 2
            WHEN lab.creatinine_max >= 1.2 THEN 1
            ELSE 0
        END AS renal
    FROM mimiciv_icu.icustays AS stay
    LEFT JOIN oxygenation ON oxygenation.stay_id = stay.stay_id
    LEFT JOIN drug_rate ON drug_rate.stay_id = stay.stay_id
    LEFT JOIN mimiciv_derived.first_day_vitalsign AS vital ON vital.stay_id = stay.stay_id
    LEFT JOIN mimiciv_derived.first_day_lab AS lab ON lab.stay_id = stay.stay_id
    LEFT JOIN mimiciv_derived.first_day_gcs AS coma ON coma.stay_id = stay.stay_id
    LEFT JOIN mimiciv_derived.first_day_urine_output AS urine ON urine.stay_id = stay.stay_id
)

SELECT
    subject_id,
    hadm_id,
    stay_id,
    respiration + coagulation + liver + cardiovascular + cns + renal AS sofa,
    respiration,
    coagulation,
    liver,
    cardiovascular,
    cns,
    renal
FROM scored
