-- What several tables are drawn from: whole admissions, blood draws, cultures and drug orders.

CREATE TABLE visit AS
WITH stays AS (
    SELECT hadm_id, min(in_s) AS in_s, max(out_s) AS out_s, max(sev) AS sev, max(aki) AS aki, max(liver) AS liver,
        arg_max(sev, in_s) AS last_sev, bool_or(infected) AS infected
    FROM stay GROUP BY hadm_id
), timed AS (
    SELECT a.*, coalesce(s.in_s, a.t0) - a.pre_s AS admit_s, coalesce(s.out_s, a.t0 + a.hours * 3600) AS acute_end_s,
        coalesce(s.in_s, a.t0) AS acute_s, coalesce(s.sev, 0.15 * u('sev', a.hadm_id, 1)) AS sev, coalesce(s.aki, 0.2 * u('aki', a.hadm_id, 1)) AS aki,
        coalesce(s.liver, 0.1 * u('liver', a.hadm_id, 1)) AS liver, coalesce(s.infected, u('infected', a.hadm_id, 1) < 0.2) AS infected,
        a.icu AND u('died', a.hadm_id, 0) < 0.6 * coalesce(s.last_sev, 0) ** 2 AS died
    FROM admission AS a LEFT JOIN stays AS s USING (hadm_id)
)
SELECT *, CASE WHEN died THEN acute_end_s ELSE acute_end_s + post_h * 3600 END AS disch_s,
    row_number() OVER (PARTITION BY j ORDER BY a DESC) = 1 AS last_visit,
    pick(['EW EMER.', 'EW EMER.', 'EW EMER.', 'EW EMER.', 'URGENT', 'URGENT', 'OBSERVATION ADMIT', 'OBSERVATION ADMIT', 'ELECTIVE', 'ELECTIVE',
          'ELECTIVE', 'SURGICAL SAME DAY ADMISSION', 'SURGICAL SAME DAY ADMISSION', 'DIRECT EMER.', 'EU OBSERVATION', 'AMBULATORY OBSERVATION',
          NULL], u('type', hadm_id, 0)) AS admission_type
FROM timed;

-- one row a tube: admission mornings, ICU rounds from 7 days before intime on, outpatient visits without an admission
CREATE TABLE draw AS
WITH panel(panel, number, every, share) AS (
    VALUES ('chem', 1, 2, 0.85), ('cbc', 2, 2, 0.8), ('coag', 3, 2, 0.55), ('liver', 4, 4, 0.55), ('diff', 5, 4, 0.45),
           ('protein', 6, 4, 0.35), ('cardiac', 7, 4, 0.3), ('crp', 8, 8, 0.25), ('bg', 9, 1, 0.55)
), rounds AS (
    SELECT s.subject_id, s.hadm_id, s.n, s.sev, s.aki, s.liver, r.k, s.in_s,
        CASE WHEN s.on_hour AND u('round', s.n * 1024 + r.k + 64, 0) < 0.3 THEN s.in_s + r.k * 21600
             ELSE s.in_s + r.k * 21600 + (60 * (u('round', s.n * 1024 + r.k + 64, 1) * 240)::BIGINT) END AS at_s
    FROM stay AS s, unnest(range(CASE WHEN u('before', s.n, 0) < 0.4 THEN -28 ELSE -1 END, s.los_s // 21600 + 2)) AS r(k)
), icu AS (
    SELECT r.subject_id, CASE WHEN r.k < -8 THEN NULL ELSE r.hadm_id END AS hadm_id, r.n * 1024 + r.k + 64 AS key, r.n AS person, r.sev, r.aki, r.liver,
        r.at_s, (r.at_s - r.in_s) / 3600.0 AS hours, p.panel, p.number
    FROM rounds AS r, panel AS p
    WHERE r.k % p.every = 0
        AND u('draw', r.n * 1024 + r.k + 64, p.number) < p.share * (CASE WHEN r.k < -1 THEN 0.25 ELSE 1 END) * (CASE WHEN p.panel = 'bg' THEN 0.25 + r.sev ELSE 1 END)
), ward AS (
    SELECT v.subject_id, v.hadm_id, 500000000 + (v.hadm_id - 29000000) * 64 + r.day AS key, v.hadm_id AS person, v.sev, v.aki, v.liver,
        v.admit_s - v.admit_s % 86400 + 86400 * r.day + 21600 + 60 * (u('morning', v.hadm_id, r.day) * 50)::BIGINT AS at_s,
        (v.admit_s - v.acute_s) / 3600.0 + 24.0 * r.day AS hours, p.panel, p.number
    FROM visit AS v, unnest(range(least(60, (v.disch_s - v.admit_s) // 86400 + 1)::BIGINT)) AS r(day), panel AS p
    WHERE p.number IN (1, 2, 3, 4) AND u('ward', v.hadm_id * 64 + r.day, p.number) < p.share * CASE WHEN v.icu THEN 0.5 ELSE 0.8 END
        AND (v.admit_s - v.admit_s % 86400 + 86400 * r.day + 21600 NOT BETWEEN v.acute_s - 21600 AND v.acute_end_s OR NOT v.icu)
), clinic AS (
    SELECT s.subject_id, NULL::BIGINT AS hadm_id, 900000000 + s.j * 16 + r.k AS key, s.j AS person, 0.0 AS sev, 0.0 AS aki, 0.0 AS liver,
        v.t0 - 86400 * (10 + 30 * r.k) AS at_s, 0.0 AS hours, p.panel, p.number
    FROM subject AS s JOIN visit AS v ON v.j = s.j AND v.a = 1, unnest(range((u('clinic', s.j, 0) * 5)::BIGINT)) AS r(k), panel AS p
    WHERE p.number IN (1, 2, 4) AND u('clinic', s.j * 16 + r.k, p.number) < 0.7
), everything AS (
    SELECT * FROM icu UNION ALL SELECT * FROM ward UNION ALL SELECT * FROM clinic
), twice AS (
    SELECT *, 0 AS copy FROM everything
    UNION ALL  -- two tubes of one panel at one time, with values of their own
    SELECT *, 1 AS copy FROM everything WHERE u('twice', key, number) < 0.008
)
SELECT *, 80000000 + row_number() OVER (ORDER BY subject_id, at_s, number, key, copy) AS specimen_id FROM twice;

-- cultures of infected admissions, often beside an antibiotic's start
SET VARIABLE specimen_rows = (SELECT list(row_number ORDER BY row_number) FROM (SELECT rowid + 1 AS row_number FROM specimens, range((share * 10)::BIGINT)));
SET VARIABLE organism_rows = (SELECT list(row_number ORDER BY row_number) FROM (SELECT rowid + 1 AS row_number FROM organisms, range((share * 10)::BIGINT)));
SET VARIABLE drug_rows = (SELECT list(row_number ORDER BY row_number) FROM (SELECT rowid + 1 AS row_number FROM drugs, range((share)::BIGINT)));
SET VARIABLE antibiotic_rows = (SELECT list(row_number ORDER BY row_number) FROM (SELECT rowid + 1 AS row_number FROM drugs, range((share)::BIGINT) WHERE kind = 'antibiotic'));
SET VARIABLE diagnosis9_rows = (SELECT list(row_number ORDER BY row_number) FROM (SELECT rowid + 1 AS row_number FROM diagnoses, range((share)::BIGINT) WHERE version = 9));
SET VARIABLE diagnosis10_rows = (SELECT list(row_number ORDER BY row_number) FROM (SELECT rowid + 1 AS row_number FROM diagnoses, range((share)::BIGINT) WHERE version = 10));

CREATE TABLE drug_order AS
WITH course AS (
    SELECT v.subject_id, v.hadm_id, v.j, v.hadm_id * 64 + r.k AS key, true AS infection,
        v.acute_s - v.acute_s % 3600 + 3600 * ((u('course', v.hadm_id, r.k) * 60)::BIGINT - 10) AS at_s
    FROM visit AS v, unnest(range(1 + (u('courses', v.hadm_id, 0) * 6)::BIGINT)) AS r(k) WHERE v.infected
), other AS (
    SELECT v.subject_id, v.hadm_id, v.j, v.hadm_id * 64 + 16 + r.k AS key, false AS infection,
        v.admit_s - v.admit_s % 3600 + 3600 * (u('order', v.hadm_id, r.k) * (1 + (v.disch_s - v.admit_s) // 3600))::BIGINT AS at_s
    FROM visit AS v, unnest(range(3 + (u('orders', v.hadm_id, 0) * 20)::BIGINT)) AS r(k)
), both_kinds AS (
    SELECT * FROM course UNION ALL SELECT * FROM other
)
SELECT o.*, d.drug, d.route, d.drug_type, d.kind, 45000000 + row_number() OVER (ORDER BY o.subject_id, o.key) AS pharmacy_id
FROM (SELECT *, CASE WHEN infection THEN pick(getvariable('antibiotic_rows'), u('drug', key, 0)) ELSE pick(getvariable('drug_rows'), u('drug', key, 0)) END AS drug_row
      FROM both_kinds) AS o JOIN drugs AS d ON d.rowid + 1 = o.drug_row;

CREATE TABLE culture AS
WITH near AS (
    -- beside an antibiotic: the windows' edges, and anywhere around them
    SELECT subject_id, hadm_id, key * 4 + r.c AS key,
        CASE WHEN u('near', key * 4 + r.c, 0) < 0.3
             THEN at_s - 3600 * pick([0, 72, 73, -24, -25, 1, 24, -1], u('near', key * 4 + r.c, 1))
             ELSE at_s - 60 * ((u('near', key * 4 + r.c, 2) * 7200)::BIGINT - 2000) END AS at_s
    FROM drug_order, unnest(range((u('cultures', key, 0) * 2.6)::BIGINT)) AS r(c) WHERE infection
), screening AS (
    SELECT subject_id, CASE WHEN u('screen', hadm_id, 2) < 0.2 THEN NULL ELSE hadm_id END, hadm_id * 4096, admit_s + 60 * (u('screen', hadm_id, 1) * 2880)::BIGINT
    FROM visit WHERE u('screen', hadm_id, 0) < 0.4
), located AS (
    SELECT * FROM near UNION ALL SELECT * FROM screening
)
SELECT l.*, s.*, u('timed', l.key, 0) > 0.12 AS timed, 6000000 + row_number() OVER (ORDER BY l.subject_id, l.key) AS micro_specimen_id
FROM (SELECT *, pick(getvariable('specimen_rows'), u('specimen', key, 0)) AS specimen_row FROM located) AS l
JOIN specimens AS s ON s.rowid + 1 = l.specimen_row;
