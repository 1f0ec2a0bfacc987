SELECT subject_id, hadm_id, subject_id || '-' || (key % 4096 * 4 + r.k) AS emar_id, key % 4096 * 4 + r.k AS emar_seq, subject_id || '-' || (key % 4096) AS poe_id, pharmacy_id,
    'PSYN' || (key % 400) AS enter_provider_id, ts(at_s + 28800 * r.k) AS charttime, drug AS medication, pick(['Administered', 'Not Given', 'Administered'], u('emar', key, r.k)) AS event_txt,
    ts(at_s + 28800 * r.k) AS scheduletime, ts(at_s + 28800 * r.k + 60) AS storetime
FROM drug_order, unnest(range(2)) AS r(k) ORDER BY pharmacy_id, r.k
