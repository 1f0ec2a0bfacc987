SELECT key * 2 AS vitalperiodicid, patientunitstayid, minutes AS observationoffset, NULL AS temperature, round(clamp(97 - 4 * sev + 1.5 * z('p', key, 1), 60, 100)) AS sao2, round(clamp(80 + 28 * sev + 10 * z('p', key, 2), 20, 220)) AS heartrate,
    round(clamp(17 + 7 * sev + 3 * z('p', key, 3), 2, 60)) AS respiration, CASE WHEN art THEN 8 END AS cvp, NULL AS etco2, CASE WHEN art THEN round(122 - 28 * sev + 12 * z('p', key, 4)) END AS systemicsystolic,
    CASE WHEN art THEN round(61 - 12 * sev + 7 * z('p', key, 5)) END AS systemicdiastolic, CASE WHEN art THEN round(81 - 18 * sev + 8 * z('p', key, 6)) END AS systemicmean, NULL AS pasystolic, NULL AS padiastolic, NULL AS pamean,
    0.1 AS st1, 0.2 AS st2, 0.1 AS st3, NULL AS icp
FROM grid WHERE hour >= 0
