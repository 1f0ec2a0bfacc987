SELECT key AS infusiondrugid, patientunitstayid, minutes AS infusionoffset, pick(['Norepinephrine (mcg/min)', 'Propofol (mcg/kg/min)', 'Vasopressin (units/min)', 'Volume (mL) Magnesium  (ml/hr)'], u('drug', n, 0)) AS drugname,
    CASE WHEN u('drug', key, 1) < 0.02 THEN 'OFF' ELSE (5 + key % 40)::VARCHAR END AS drugrate, NULL AS infusionrate, NULL AS drugamount, NULL AS volumeoffluid, NULL AS patientweight
FROM grid WHERE hour % 2 = 0 AND u('drug', n, 2) < 0.3
