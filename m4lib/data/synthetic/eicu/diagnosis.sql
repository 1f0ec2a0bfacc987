SELECT n * 8 + r.k AS diagnosisid, patientunitstayid, CASE WHEN r.k = 0 THEN 'True' ELSE 'False' END AS activeupondischarge, 60 + 90 * r.k AS diagnosisoffset,
    pick(['cardiovascular|ventricular disorders|hypertension', 'pulmonary|respiratory failure|acute respiratory failure', 'infectious diseases|systemic/other infections|sepsis'], u('dx', n, r.k)) AS diagnosisstring,
    pick(['401.9, I10', '518.81, J96.00', '038.9, 995.91, A41.9'], u('dx', n, r.k)) AS icd9code, pick(['Primary', 'Major', 'Other'], u('dx', n, 20 + r.k)) AS diagnosispriority
FROM patient_stay, unnest(range(3)) AS r(k) ORDER BY 1
