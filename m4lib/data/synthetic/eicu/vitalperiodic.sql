SELECT key * 2 * getvariable('vitals_an_hour') + 2 * r.k AS vitalperiodicid, patientunitstayid, minutes + 5 * r.k AS observationoffset, NULL AS temperature, round(clamp(97 - 4 * sev + 1.5 * z('p', key, 1 + 10 * r.k), 60, 100)) AS sao2, round(clamp(80 + 28 * sev + 10 * z('p', key, 2 + 10 * r.k), 20, 220)) AS heartrate,
    round(clamp(17 + 7 * sev + 3 * z('p', key, 3 + 10 * r.k), 2, 60)) AS respiration, CASE WHEN art THEN 8 END AS cvp, NULL AS etco2, CASE WHEN art THEN round(122 - 28 * sev + 12 * z('p', key, 4 + 10 * r.k)) END AS systemicsystolic,
    CASE WHEN art THEN round(61 - 12 * sev + 7 * z('p', key, 5 + 10 * r.k)) END AS systemicdiastolic, CASE WHEN art THEN round(81 - 18 * sev + 8 * z('p', key, 6 + 10 * r.k)) END AS systemicmean, NULL AS pasystolic, NULL AS padiastolic, NULL AS pamean,
    0.1 AS st1, 0.2 AS st2, 0.1 AS st3, NULL AS icp
FROM grid, range(getvariable('vitals_an_hour')) AS r(k) WHERE hour >= 0
