-- Age at hospital admission, with its fraction of a year.
-- Grain:  one row per hospital admission of a known patient.
-- Source: public concept MIT-LCP/mimic-code demographics/age; dates are shifted, anchor_age holds at the start of anchor_year.
-- Units:  years of 365.242 days; not rounded. Patients older than 89 have an anchor_age of 91.
SELECT
    admission.subject_id,
    admission.hadm_id,
    admission.admittime,
    patient.anchor_age,
    patient.anchor_year,
    patient.anchor_age
        + DATE_DIFF('microsecond', MAKE_TIMESTAMP(patient.anchor_year, 1, 1, 0, 0, 0), admission.admittime)
        / 31556908800000.0 AS age
FROM mimiciv_hosp.admissions AS admission
INNER JOIN mimiciv_hosp.patients AS patient
    ON admission.subject_id = patient.subject_id
