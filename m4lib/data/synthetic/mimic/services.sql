WITH moves AS (
    SELECT v.*, r.k, CASE WHEN r.k = 0 THEN admit_s + 60
                          -- a few changes in the same second as the first, and around 24 h after intime
                          WHEN u('move', hadm_id, 10 + r.k) < 0.08 THEN admit_s + 60
                          WHEN u('move', hadm_id, 10 + r.k) < 0.25 THEN acute_s + 86400 + pick([-1, 0, 1], u('move', hadm_id, 20 + r.k))
                          ELSE admit_s + 3600 * (1 + (u('move', hadm_id, 30 + r.k) * 200)::BIGINT) END AS at_s,
        -- elective admissions are mostly surgical
        pick(['MED', 'MED', 'MED', 'CMED', 'SURG', 'CSURG', 'NSURG', 'VSURG', 'TRAUM', 'ORTHO', 'OMED', 'NMED', 'TSURG', 'GYN', 'GU', 'PSURG'],
             CASE WHEN admission_type = 'ELECTIVE' AND u('service', hadm_id, 90 + r.k) < 0.6 THEN 0.27 + 0.2 * u('service', hadm_id, r.k) ELSE u('service', hadm_id, r.k) END) AS service
    FROM visit AS v, unnest(range(1 + (u('moves', hadm_id, 0) * 1.5)::BIGINT)) AS r(k)
    WHERE u('unserved', hadm_id, 0) > 0.02
)
SELECT subject_id, hadm_id, ts(at_s) AS transfertime, lag(service) OVER (PARTITION BY hadm_id ORDER BY k) AS prev_service, service AS curr_service
FROM moves ORDER BY hadm_id, k
