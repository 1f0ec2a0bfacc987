SELECT n * 4 + r.k AS treatmentid, patientunitstayid, 100 + 200 * r.k AS treatmentoffset, pick(['pulmonary|ventilation and oxygenation|mechanical ventilation', 'cardiovascular|shock|vasopressors', 'renal|electrolyte correction'], u('treat', n, r.k)) AS treatmentstring, 'False' AS activeupondischarge
FROM patient_stay, unnest(range(2)) AS r(k) ORDER BY 1
