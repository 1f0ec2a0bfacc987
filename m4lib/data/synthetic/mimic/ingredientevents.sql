WITH given AS (
    SELECT s.*, r.k, n * 64 + r.k AS key FROM stay AS s, unnest(range(3)) AS r(k) WHERE u('ingredient', n, 0) < 0.6
)
SELECT subject_id, hadm_id, stay_id, 90000 + key % 997 AS caregiver_id, ts(in_s + 7200 * k) AS starttime, ts(in_s + 7200 * k + 3600) AS endtime,
    ts(in_s + 7200 * k + 3600) AS storetime, i.itemid, round(100 * u('ingredient', key, 1)) AS amount, i.unit AS amountuom, NULL AS rate, NULL AS rateuom,
    9000000 + key AS orderid, 9000000 + key AS linkorderid, 'FinishedRunning' AS statusdescription, round(100 * u('ingredient', key, 1)) AS originalamount, NULL AS originalrate
FROM given, (VALUES (220490, 'mL'), (226221, 'mEq')) AS i(itemid, unit)
