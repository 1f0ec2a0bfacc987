WITH item(k, name, mean, sd, unit, kind) AS (
    VALUES (1, 'creatinine', 1.2, 0.5, 'mg/dL', 1), (2, 'BUN', 22, 9, 'mg/dL', 1), (3, 'sodium', 139, 4, 'mmol/L', 1), (4, 'potassium', 4.1, 0.5, 'mmol/L', 1), (5, 'glucose', 140, 45, 'mg/dL', 1),
           (6, 'Hgb', 10.9, 1.8, 'g/dL', 3), (7, 'platelets x 1000', 205, 70, 'K/mcL', 3), (8, 'WBC x 1000', 10.5, 4, 'K/mcL', 3), (9, 'paO2', 105, 35, 'mm Hg', 7), (10, 'pH', 7.37, 0.07, '', 7)
)
SELECT g.key * 16 + i.k AS labid, g.patientunitstayid, g.minutes AS labresultoffset, i.kind AS labtypeid, i.name AS labname, round(greatest(0.1, i.mean + i.sd * z('lab', g.key, i.k)), 2) AS labresult,
    round(greatest(0.1, i.mean + i.sd * z('lab', g.key, i.k)), 2)::VARCHAR AS labresulttext, i.unit AS labmeasurenamesystem, i.unit AS labmeasurenameinterface, g.minutes + 30 AS labresultrevisedoffset
FROM grid AS g, item AS i WHERE g.hour % 12 = 0 AND u('labs', g.key, i.k) < 0.7
