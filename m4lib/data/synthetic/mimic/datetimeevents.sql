SELECT subject_id, hadm_id, stay_id, 90000 + n % 997 AS caregiver_id, ts(in_s + 3600) AS charttime, ts(in_s + 3660) AS storetime, i.itemid,
    date_trunc('day', ts(in_s - 86400 * i.back)) AS value, 'Date' AS valueuom, 0 AS warning
FROM stay, (VALUES (224186, 1), (225754, 0)) AS i(itemid, back) WHERE u('dated', n, i.itemid) < 0.6
