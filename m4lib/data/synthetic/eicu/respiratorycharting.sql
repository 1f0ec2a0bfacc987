SELECT key * 8 + i.k AS respchartid, patientunitstayid, minutes AS respchartoffset, minutes AS respchartentryoffset, i.cat AS respcharttypecat, i.label AS respchartvaluelabel, num(round(i.mean * (0.8 + 0.4 * u('resp', key, i.k))), 1) AS respchartvalue
FROM grid, (VALUES (1, 'respFlowSettings', 'FiO2', 45), (2, 'respFlowPtVentData', 'RR (patient)', 18), (3, 'respFlowSettings', 'PEEP', 6), (4, 'respFlowSettings', 'LPM O2', 4)) AS i(k, cat, label, mean)
WHERE hour % 4 = 0 AND u('resp', key, 10 + i.k) < CASE WHEN vent THEN 0.8 ELSE 0.15 END
