-- Prescriptions of non-steroidal anti-inflammatory drugs, aspirin and eye drops included.
-- Grain:  one row per prescription; duplicates stay.
-- Source: public concept MIT-LCP/mimic-code medication/nsaid; generic names anywhere in the drug text, in any case.
SELECT
    subject_id,
    hadm_id,
    drug AS nsaid,
    starttime,
    stoptime
FROM mimiciv_hosp.prescriptions
WHERE CONTAINS(UPPER(drug), 'ASPIRIN')
    OR CONTAINS(UPPER(drug), 'BROMFENAC')
    OR CONTAINS(UPPER(drug), 'CELECOXIB')
    OR CONTAINS(UPPER(drug), 'DICLOFENAC')
    OR CONTAINS(UPPER(drug), 'DIFLUNISAL')
    OR CONTAINS(UPPER(drug), 'ETODOLAC')
    OR CONTAINS(UPPER(drug), 'FENOPROFEN')
    OR CONTAINS(UPPER(drug), 'FLURBIPROFEN')
    OR CONTAINS(UPPER(drug), 'IBUPROFEN')
    OR CONTAINS(UPPER(drug), 'INDOMETHACIN')
    OR CONTAINS(UPPER(drug), 'KETOPROFEN')
    OR CONTAINS(UPPER(drug), 'MEFENAMIC ACID')
    OR CONTAINS(UPPER(drug), 'MELOXICAM')
    OR CONTAINS(UPPER(drug), 'NABUMETONE')
    OR CONTAINS(UPPER(drug), 'NAPROXEN')
    OR CONTAINS(UPPER(drug), 'NEPAFENAC')
    OR CONTAINS(UPPER(drug), 'OXAPROZIN')
    OR CONTAINS(UPPER(drug), 'PIROXICAM')
    OR CONTAINS(UPPER(drug), 'SULINDAC')
    OR CONTAINS(UPPER(drug), 'TOLMETIN')
