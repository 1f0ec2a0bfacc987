SELECT n + 1 AS apacheapsvarid, patientunitstayid, (vent AND u('aps', n, 1) < 0.7)::BIGINT AS intubated, vent::BIGINT AS vent, (aki > 0.8)::BIGINT AS dialysis,
    clamp(4 - round(3 * cns), 1, 4)::BIGINT AS eyes, clamp(6 - round(5 * cns), 1, 6)::BIGINT AS motor, clamp(5 - round(4 * cns), 1, 5)::BIGINT AS verbal, (u('aps', n, 2) < 0.03)::BIGINT AS meds,
    CASE WHEN u('aps', n, 3) < 0.3 THEN -1 WHEN u('aps', n, 3) < 0.4 THEN pick([0.0, 670, 671, 1426.99, 1427, 2543.99, 2544, 6896, 6897], u('aps', n, 4)) ELSE round(clamp(1800 * (1 - aki) * exp(0.5 * z('aps', n, 5)), 0, 9000), 1) END AS urine,
    round(clamp(10 + 4 * z('aps', n, 6), 0.2, 60), 1) AS wbc, round(clamp(36.8 + 0.8 * z('aps', n, 7), 30, 42), 1) AS temperature, round(clamp(20 + 8 * z('aps', n, 8), 2, 60)) AS respiratoryrate,
    round(138 + 5 * z('aps', n, 9)) AS sodium, round(clamp(90 + 22 * z('aps', n, 10), 20, 220)) AS heartrate, round(clamp(78 + 22 * z('aps', n, 11), 20, 190)) AS meanbp, round(7.37 + 0.08 * z('aps', n, 12), 2) AS ph,
    round(33 + 6 * z('aps', n, 13), 1) AS hematocrit, round(clamp(exp(0.2 + 0.6 * z('aps', n, 14)), 0.2, 15), 2) AS creatinine, -1 AS albumin, -1 AS pao2, -1 AS pco2, round(clamp(exp(3 + 0.6 * z('aps', n, 15)), 3, 200)) AS bun,
    round(clamp(140 + 50 * z('aps', n, 16), 30, 600)) AS glucose, -1 AS bilirubin, -1 AS fio2
FROM patient_stay WHERE u('aps', n, 0) < 0.87 ORDER BY n
