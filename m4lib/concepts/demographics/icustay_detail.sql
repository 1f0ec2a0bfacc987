-- Patient, admission and length of stay of each ICU stay.
-- Grain:  one row per ICU stay with a known admission and patient.
-- Source: public concept MIT-LCP/mimic-code demographics/icustay_detail.
-- Units:  lengths of stay in days, age in years of 365.242 days. Sequences count only admissions with an ICU stay.
SELECT
    stay.subject_id,
    stay.hadm_id,
    stay.stay_id,
    patient.gender,
    patient.dod,
    admission.admittime,
    admission.dischtime,
    DATE_DIFF('microsecond', admission.admittime, admission.dischtime) / 86400000000.0 AS los_hospital,
    patient.anchor_age
        + DATE_DIFF('microsecond', MAKE_TIMESTAMP(patient.anchor_year, 1, 1, 0, 0, 0), admission.admittime)
        / 31556908800000.0 AS admission_age,
    admission.race,
    admission.hospital_expire_flag,
    DENSE_RANK() OVER admissions_of_patient AS hospstay_seq,
    DENSE_RANK() OVER admissions_of_patient = 1 AS first_hosp_stay,
    stay.intime AS icu_intime,
    stay.outtime AS icu_outtime,
    -- three decimals first, then two: the double rounding is part of the definition
    ROUND(TRY_CAST(
        DATE_DIFF('microsecond', stay.intime, stay.outtime) / 3600000000.0 / 24.0 AS DECIMAL(18, 3)
    ), 2) AS los_icu,
    DENSE_RANK() OVER stays_of_admission AS icustay_seq,
    DENSE_RANK() OVER stays_of_admission = 1 AS first_icu_stay
FROM mimiciv_icu.icustays AS stay
INNER JOIN mimiciv_hosp.admissions AS admission
    ON stay.hadm_id = admission.hadm_id
INNER JOIN mimiciv_hosp.patients AS patient
    ON stay.subject_id = patient.subject_id
WINDOW
    admissions_of_patient AS (PARTITION BY admission.subject_id ORDER BY admission.admittime NULLS FIRST),
    stays_of_admission AS (PARTITION BY stay.hadm_id ORDER BY stay.intime NULLS FIRST)
