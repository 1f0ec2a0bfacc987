SELECT subject_id, gender, anchor_age, anchor_year, anchor_year_group,
    CASE WHEN v.died THEN ts(v.disch_s)::DATE WHEN u('dod', s.j, 0) < 0.15 THEN ts(v.disch_s)::DATE + (1 + (u('dod', s.j, 1) * 360)::INTEGER) END AS dod
FROM subject AS s LEFT JOIN (SELECT j, bool_or(died AND last_visit) AS died, max(disch_s) AS disch_s FROM visit GROUP BY j) AS v USING (j)
ORDER BY subject_id
