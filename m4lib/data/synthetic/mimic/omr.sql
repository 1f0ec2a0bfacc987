SELECT s.subject_id, ts(v.t0 - 86400 * (5 + 20 * r.k))::DATE AS chartdate, 1 AS seq_num, m.name AS result_name,
    CASE m.name WHEN 'Weight (Lbs)' THEN round(s.weight * 2.20462)::BIGINT::VARCHAR WHEN 'Height (Inches)' THEN round(s.height / 2.54)::BIGINT::VARCHAR
        ELSE (110 + s.j % 40)::VARCHAR || '/' || (60 + s.j % 25)::VARCHAR END AS result_value
FROM subject AS s JOIN visit AS v ON v.j = s.j AND v.a = 1, unnest(range(2)) AS r(k), (VALUES ('Weight (Lbs)'), ('Height (Inches)'), ('Blood Pressure')) AS m(name)
WHERE u('omr', s.j, r.k) < 0.6 ORDER BY s.subject_id, r.k, m.name
