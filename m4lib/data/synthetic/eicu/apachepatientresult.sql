SELECT n * 2 + v.k AS apachepatientresultsid, patientunitstayid, 'hospitalist' AS physicianspeciality, 'Unknown' AS physicianinterventioncategory, (20 + 80 * sev)::BIGINT AS acutephysiologyscore,
    (30 + 90 * sev)::BIGINT AS apachescore, v.version AS apacheversion, round(0.5 * sev ** 2, 6) AS predictedicumortality, upper(status) AS actualicumortality, round(2 + 6 * sev, 4) AS predictediculos, round(los / 1440.0, 4) AS actualiculos,
    round(0.6 * sev ** 2, 6) AS predictedhospitalmortality, upper(status) AS actualhospitalmortality, round(5 + 12 * sev, 4) AS predictedhospitallos, round(los / 1440.0 + 3, 4) AS actualhospitallos, 0 AS preopmi, 0 AS preopcardiaccath,
    0 AS ptcawithin24h, round(los / 1440.0, 4) AS unabridgedunitlos, round(los / 1440.0 + 3, 4) AS unabridgedhosplos, NULL AS actualventdays, NULL AS predventdays, NULL AS unabridgedactualventdays
FROM patient_stay, (VALUES (1, 'IV'), (2, 'IVa')) AS v(k, version) WHERE u('pred', n, 0) < 0.87 ORDER BY 1
