SELECT n + 1 AS apachepredvarid, patientunitstayid, 1 AS sicuday, 0 AS saps3day1, 0 AS saps3today, 0 AS saps3yesterday, n % 2 AS gender, 0 AS teachtype, 3 AS region, 12 AS bedcount, 8 AS admitsource, 3 AS graftcount,
    0 AS meds, 5 AS verbal, 6 AS motor, 4 AS eyes, coalesce(TRY_CAST(age AS BIGINT), 91) AS age, pick(['SEPSISPULM', 'S-CABG', 'CHF', 'RHYTHATR', 'S-CAROTEND'], u('pred', n, 1)) AS admitdiagnosis, 0 AS thrombolytics,
    (status = 'Expired')::BIGINT AS diedinhospital, 0 AS aids, 0 AS hepaticfailure, 0 AS lymphoma, 0 AS metastaticcancer, 0 AS leukemia, 0 AS immunosuppression, 0 AS cirrhosis,
    CASE WHEN u('pred', n, 2) < 0.25 THEN 1 WHEN u('pred', n, 2) < 0.8 THEN 0 END AS electivesurgery, 1 AS activetx, 0 AS readmit, 0 AS ima, 0 AS midur, vent::BIGINT AS ventday1,
    (vent AND u('pred', n, 3) < 0.5)::BIGINT AS oobventday1, (vent AND u('pred', n, 4) < 0.5)::BIGINT AS oobintubday1, 0 AS diabetes, 1 AS managementsystem, 0 AS var03hspxlos, -1 AS pao2, -1 AS fio2, -1 AS ejectfx,
    1.0 AS creatinine, 4 AS dischargelocation, 1 AS visitnumber, -1 AS amilocation, 0 AS day1meds, 5 AS day1verbal, 6 AS day1motor, 4 AS day1eyes, -1 AS day1pao2, -1 AS day1fio2
FROM patient_stay WHERE u('pred', n, 0) < 0.87 ORDER BY n
