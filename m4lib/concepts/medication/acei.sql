-- Prescriptions of angiotensin-converting-enzyme inhibitors.
-- Grain:  one row per prescription; duplicates stay.
-- Source: public concept MIT-LCP/mimic-code medication/acei; generic names anywhere in the drug text, in any case.
SELECT
    subject_id,
    hadm_id,
    drug AS acei,
    starttime,
    stoptime
FROM mimiciv_hosp.prescriptions
WHERE CONTAINS(UPPER(drug), 'BENAZEPRIL')
    OR CONTAINS(UPPER(drug), 'CAPTOPRIL')
    OR CONTAINS(UPPER(drug), 'ENALAPRIL') -- also enalaprilat
    OR CONTAINS(UPPER(drug), 'FOSINOPRIL')
    OR CONTAINS(UPPER(drug), 'LISINOPRIL')
    OR CONTAINS(UPPER(drug), 'MOEXIPRIL')
    OR CONTAINS(UPPER(drug), 'PERINDOPRIL')
    OR CONTAINS(UPPER(drug), 'QUINAPRIL')
    OR CONTAINS(UPPER(drug), 'RAMIPRIL')
    OR CONTAINS(UPPER(drug), 'TRANDOLAPRIL')
