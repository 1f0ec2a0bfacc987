-- SAPS-II of the first ICU day: 15 components and their sum.
-- Grain: one row per ICU stay with an admission. A component without data scores 0.
-- Window: intime to intime + 24 h, start excluded, end included; the ICU discharge does not end it.
-- Units: temperature deg C, PaO2/FiO2 mmHg (arterial), urine mL, urea nitrogen and bilirubin mg/dL, cells 10^9/L, mEq/L.
-- Source: Le Gall JR et al., JAMA 1993;270:2957-2963, with the conventions of the public MIMIC-IV concept.
WITH stay AS (
    SELECT
        icu.subject_id,
        icu.hadm_id,
        icu.stay_id,
        admission.admission_type,
        icu.intime AS window_start,
        icu.intime + INTERVAL 24 HOUR AS window_end
    FROM mimiciv_icu.icustays AS icu
    INNER JOIN mimiciv_hosp.admissions AS admission ON admission.hadm_id = icu.hadm_id
),

-- vital signs and laboratory values follow the patient, also when charted under another stay
vital AS (
    SELECT
        stay.stay_id,
        MIN(sign.heart_rate) AS heart_rate_min,
        MAX(sign.heart_rate) AS heart_rate_max,
        MIN(sign.sbp) AS sbp_min,
        MAX(sign.sbp) AS sbp_max,
        MAX(sign.temperature) AS temperature_max
    FROM stay
    INNER JOIN mimiciv_derived.vitalsign AS sign
        ON sign.subject_id = stay.subject_id
        AND sign.charttime > stay.window_start
        AND sign.charttime <= stay.window_end
    GROUP BY stay.stay_id
),

blood_chemistry AS (
    SELECT
        stay.stay_id,
        MAX(lab.bun) AS bun_max,
        MIN(lab.potassium) AS potassium_min,
        MAX(lab.potassium) AS potassium_max,
        MIN(lab.sodium) AS sodium_min,
        MAX(lab.sodium) AS sodium_max,
        MIN(lab.bicarbonate) AS bicarbonate_min
    FROM stay
    INNER JOIN mimiciv_derived.chemistry AS lab
        ON lab.subject_id = stay.subject_id
        AND lab.charttime > stay.window_start
        AND lab.charttime <= stay.window_end
    GROUP BY stay.stay_id
),

blood_count AS (
    SELECT stay.stay_id, MIN(lab.wbc) AS wbc_min, MAX(lab.wbc) AS wbc_max
    FROM stay
    INNER JOIN mimiciv_derived.complete_blood_count AS lab
        ON lab.subject_id = stay.subject_id
        AND lab.charttime > stay.window_start
        AND lab.charttime <= stay.window_end
    GROUP BY stay.stay_id
),

liver AS (
    SELECT stay.stay_id, MAX(lab.bilirubin_total) AS bilirubin_max
    FROM stay
    INNER JOIN mimiciv_derived.enzyme AS lab
        ON lab.subject_id = stay.subject_id
        AND lab.charttime > stay.window_start
        AND lab.charttime <= stay.window_end
    GROUP BY stay.stay_id
),

urine AS (
    SELECT stay.stay_id, SUM(output.urineoutput ORDER BY output.charttime) AS urineoutput
    FROM stay
    INNER JOIN mimiciv_derived.urine_output AS output
        ON output.stay_id = stay.stay_id
        AND output.charttime > stay.window_start
        AND output.charttime <= stay.window_end
    GROUP BY stay.stay_id
),

coma AS (
    SELECT stay.stay_id, MIN(reading.gcs) AS gcs_min
    FROM stay
    INNER JOIN mimiciv_derived.gcs AS reading
        ON reading.stay_id = stay.stay_id
        AND reading.charttime > stay.window_start
        AND reading.charttime <= stay.window_end
    GROUP BY stay.stay_id
),

-- one interval of mask pressure support a stay: 1 h before the first to 4 h after the last charted mask
mask AS (
    SELECT
        stay.stay_id,
        stay.subject_id,
        GREATEST(MIN(device.charttime) - INTERVAL 1 HOUR, stay.window_start) AS mask_start,
        LEAST(MAX(device.charttime) + INTERVAL 4 HOUR, stay.window_end) AS mask_end
    FROM stay
    INNER JOIN mimiciv_icu.chartevents AS device
        ON device.stay_id = stay.stay_id
        AND device.charttime > stay.window_start
        AND device.charttime <= stay.window_end
    WHERE device.itemid = 226732 -- O2 Delivery Device(s)
        AND (LOWER(device.value) LIKE '%cpap mask%' OR LOWER(device.value) LIKE '%bipap%')
    GROUP BY stay.stay_id, stay.subject_id, stay.window_start, stay.window_end
),

-- only gases drawn under invasive ventilation or mask pressure support count; intervals exclude their start
oxygenation AS (
    SELECT stay.stay_id, MIN(gas.pao2fio2ratio) AS pao2fio2_min
    FROM stay
    INNER JOIN mimiciv_derived.bg AS gas
        ON gas.subject_id = stay.subject_id
        AND gas.charttime > stay.window_start
        AND gas.charttime <= stay.window_end
    LEFT JOIN mimiciv_derived.ventilation AS vent
        ON vent.stay_id = stay.stay_id
        AND vent.ventilation_status = 'InvasiveVent'
        AND gas.charttime > vent.starttime
        AND gas.charttime <= vent.endtime
    LEFT JOIN mask
        ON mask.subject_id = stay.subject_id
        AND gas.charttime > mask.mask_start
        AND gas.charttime <= mask.mask_end
    WHERE gas.specimen = 'ART.'
        AND (vent.stay_id IS NOT NULL OR mask.stay_id IS NOT NULL)
    GROUP BY stay.stay_id
),

-- first service of the admission; ORTHO and TRAUM are not surgical here
first_service AS (
    SELECT hadm_id, CASE WHEN LOWER(curr_service) LIKE '%surg%' THEN 1 ELSE 0 END AS surgical
    FROM mimiciv_hosp.services
    QUALIFY ROW_NUMBER() OVER (
        PARTITION BY hadm_id ORDER BY transfertime NULLS FIRST, curr_service NULLS LAST
    ) = 1
),

-- prefixes compare as text, so a shorter code stands as it is
comorbidity AS (
    SELECT
        hadm_id,
        MAX(CASE
            WHEN icd_version = 9 AND SUBSTR(icd_code, 1, 3) BETWEEN '042' AND '044' THEN 1
            WHEN icd_version = 10 AND SUBSTR(icd_code, 1, 3) BETWEEN 'B20' AND 'B22' THEN 1
            WHEN icd_version = 10 AND SUBSTR(icd_code, 1, 3) = 'B24' THEN 1
            ELSE 0
        END) AS aids,
        MAX(CASE
            WHEN icd_version = 9 AND (
                SUBSTR(icd_code, 1, 5) BETWEEN '20000' AND '20238'
                OR SUBSTR(icd_code, 1, 5) BETWEEN '20240' AND '20248'
                OR SUBSTR(icd_code, 1, 5) BETWEEN '20250' AND '20302'
                OR SUBSTR(icd_code, 1, 5) BETWEEN '20310' AND '20312'
                OR SUBSTR(icd_code, 1, 5) BETWEEN '20302' AND '20382'
                OR SUBSTR(icd_code, 1, 5) BETWEEN '20400' AND '20522'
                OR SUBSTR(icd_code, 1, 5) BETWEEN '20580' AND '20702'
                OR SUBSTR(icd_code, 1, 5) BETWEEN '20720' AND '20892'
                OR SUBSTR(icd_code, 1, 4) IN ('2386', '2733')
            ) THEN 1
            WHEN icd_version = 10 AND SUBSTR(icd_code, 1, 3) BETWEEN 'C81' AND 'C96' THEN 1
            ELSE 0
        END) AS hematologic_malignancy,
        MAX(CASE
            WHEN icd_version = 9 AND (
                SUBSTR(icd_code, 1, 4) BETWEEN '1960' AND '1991'
                OR SUBSTR(icd_code, 1, 5) BETWEEN '20970' AND '20975'
                OR SUBSTR(icd_code, 1, 5) IN ('20979', '78951')
            ) THEN 1
            WHEN icd_version = 10 AND SUBSTR(icd_code, 1, 3) BETWEEN 'C77' AND 'C79' THEN 1
            WHEN icd_version = 10 AND SUBSTR(icd_code, 1, 4) = 'C800' THEN 1
            ELSE 0
        END) AS metastatic_cancer
    FROM mimiciv_hosp.diagnoses_icd
    GROUP BY hadm_id
),

-- the first line that holds gives the points
scored AS (
    SELECT
        stay.subject_id,
        stay.hadm_id,
        stay.stay_id,
        CASE
            WHEN patient_age.age < 40 THEN 0
            WHEN patient_age.age < 60 THEN 7
            WHEN patient_age.age < 70 THEN 12
            WHEN patient_age.age < 75 THEN 15
            WHEN patient_age.age < 80 THEN 16
            WHEN patient_age.age >= 80 THEN 18
            ELSE 0
        END AS age_score,
        CASE
            WHEN vital.heart_rate_min < 40 THEN 11
            WHEN vital.heart_rate_max >= 160 THEN 7
            WHEN vital.heart_rate_max >= 120 THEN 4
            WHEN vital.heart_rate_min < 70 THEN 2
            ELSE 0
        END AS hr_score,
        CASE
            WHEN vital.sbp_min < 70 THEN 13
            WHEN vital.sbp_min < 100 THEN 5
            WHEN vital.sbp_max >= 200 THEN 2
            ELSE 0
        END AS sysbp_score,
        CASE WHEN vital.temperature_max >= 39.0 THEN 3 ELSE 0 END AS temp_score,
        CASE
            WHEN oxygenation.pao2fio2_min < 100 THEN 11
            WHEN oxygenation.pao2fio2_min < 200 THEN 9
            WHEN oxygenation.pao2fio2_min >= 200 THEN 6
            ELSE 0
        END AS pao2fio2_score,
        CASE
            WHEN urine.urineoutput < 500 THEN 11
            WHEN urine.urineoutput < 1000 THEN 4
            ELSE 0
        END AS uo_score,
        CASE
            WHEN blood_chemistry.bun_max < 28 THEN 0
            WHEN blood_chemistry.bun_max < 84 THEN 6
            WHEN blood_chemistry.bun_max >= 84 THEN 10
            ELSE 0
        END AS bun_score,
        CASE
            WHEN blood_count.wbc_min < 1.0 THEN 12
            WHEN blood_count.wbc_max >= 20.0 THEN 3
            ELSE 0
        END AS wbc_score,
        CASE WHEN blood_chemistry.potassium_min < 3.0 OR blood_chemistry.potassium_max >= 5.0 THEN 3 ELSE 0 END AS potassium_score,
        CASE
            WHEN blood_chemistry.sodium_min < 125 THEN 5
            WHEN blood_chemistry.sodium_max >= 145 THEN 1
            ELSE 0
        END AS sodium_score,
        CASE
            WHEN blood_chemistry.bicarbonate_min < 15 THEN 6
            WHEN blood_chemistry.bicarbonate_min < 20 THEN 3
            ELSE 0
        END AS bicarbonate_score,
        CASE
            WHEN liver.bilirubin_max < 4.0 THEN 0
            WHEN liver.bilirubin_max < 6.0 THEN 4
            WHEN liver.bilirubin_max >= 6.0 THEN 9
            ELSE 0
        END AS bilirubin_score,
        CASE
            WHEN coma.gcs_min < 3 THEN 0 -- not a possible total: counts as missing
            WHEN coma.gcs_min < 6 THEN 26
            WHEN coma.gcs_min < 9 THEN 13
            WHEN coma.gcs_min < 11 THEN 7
            WHEN coma.gcs_min < 14 THEN 5
            ELSE 0
        END AS gcs_score,
        CASE
            WHEN comorbidity.aids = 1 THEN 17
            WHEN comorbidity.hematologic_malignancy = 1 THEN 10
            WHEN comorbidity.metastatic_cancer = 1 THEN 9
            ELSE 0
        END AS comorbidity_score,
        CASE
            WHEN stay.admission_type = 'ELECTIVE' AND first_service.surgical = 1 THEN 0
            WHEN stay.admission_type <> 'ELECTIVE' AND first_service.surgical = 1 THEN 8
            ELSE 6
        END AS admissiontype_score
    FROM stay
    LEFT JOIN mimiciv_derived.age AS patient_age ON patient_age.hadm_id = stay.hadm_id
    LEFT JOIN vital ON vital.stay_id = stay.stay_id
    LEFT JOIN blood_chemistry ON blood_chemistry.stay_id = stay.stay_id
    LEFT JOIN blood_count ON blood_count.stay_id = stay.stay_id
    LEFT JOIN liver ON liver.stay_id = stay.stay_id
    LEFT JOIN urine ON urine.stay_id = stay.stay_id
    LEFT JOIN coma ON coma.stay_id = stay.stay_id
    LEFT JOIN oxygenation ON oxygenation.stay_id = stay.stay_id
    LEFT JOIN first_service ON first_service.hadm_id = stay.hadm_id
    LEFT JOIN comorbidity ON comorbidity.hadm_id = stay.hadm_id
)

SELECT
    subject_id,
    hadm_id,
    stay_id,
    age_score + hr_score + sysbp_score + temp_score + pao2fio2_score
    + uo_score + bun_score + wbc_score + potassium_score + sodium_score
    + bicarbonate_score + bilirubin_score + gcs_score + comorbidity_score + admissiontype_score AS sapsii,
    age_score,
    hr_score,
    sysbp_score,
    temp_score,
    pao2fio2_score,
    uo_score,
    bun_score,
    wbc_score,
    potassium_score,
    sodium_score,
    bicarbonate_score,
    bilirubin_score,
    gcs_score,
    comorbidity_score,
    admissiontype_score
FROM scored
