SELECT n * 16 + r.k AS medicationid, patientunitstayid, 60 * r.k AS drugorderoffset, 60 * r.k + 30 AS drugstartoffset, 'No' AS drugivadmixture, CASE WHEN u('med', n, r.k) < 0.05 THEN 'Yes' ELSE 'No' END AS drugordercancelled,
    pick(['VANCOMYCIN 1 GM IV SOLN', 'ASPIRIN 81 MG PO TABS', 'HEPARIN SODIUM', 'FUROSEMIDE 40 MG/4ML IV SOLN'], u('med', n, 20 + r.k)) AS drugname, 2812 AS drughiclseqno, '1 3' AS dosage, 'IV' AS routeadmin, NULL AS frequency,
    NULL AS loadingdose, 'No' AS prn, 60 * r.k + 3000 AS drugstopoffset, 0 AS gtc
FROM patient_stay, unnest(range(6)) AS r(k) ORDER BY 1
