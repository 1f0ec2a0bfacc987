-- mimic-kdigo-48h-raw, derived from the instruction and the skill kdigo-aki-staging as a run receives them.
-- Written without sight of the reference query; compared with it only afterwards.
WITH cr AS (
  SELECT i.stay_id, i.intime, l.charttime AS t, avg(l.valuenum) AS cr
  FROM mimiciv_icu.icustays i
  JOIN mimiciv_hosp.labevents l ON l.subject_id = i.subject_id
   AND l.charttime >= i.intime - INTERVAL 7 DAY AND l.charttime <= i.outtime
  WHERE l.itemid = 50912 AND l.valuenum <= 150
  GROUP BY 1, 2, 3
), crl AS (
  SELECT a.stay_id, a.intime, a.t, a.cr,
         min(b.cr) FILTER (WHERE b.t >= a.t - INTERVAL 48 HOUR) AS low48, min(b.cr) AS low7
  FROM cr a LEFT JOIN cr b ON b.stay_id = a.stay_id AND b.t < a.t AND b.t >= a.t - INTERVAL 7 DAY
  GROUP BY 1, 2, 3, 4
), ca AS (
  SELECT stay_id, max(CASE WHEN cr >= 3.0::DOUBLE * low7 THEN 3
              WHEN cr >= 4 AND (low48 <= 3.7::DOUBLE OR cr >= 1.5::DOUBLE * low7) THEN 3
              WHEN cr >= 2.0::DOUBLE * low7 THEN 2
              WHEN cr >= low48 + 0.3::DOUBLE THEN 1
              WHEN cr >= 1.5::DOUBLE * low7 THEN 1
              ELSE 0 END) AS s
  FROM crl WHERE t BETWEEN intime AND intime + INTERVAL 48 HOUR GROUP BY 1
), uo AS (
  SELECT stay_id, charttime,
         sum(CASE WHEN itemid = 227488 AND value > 0 THEN -value ELSE value END) AS vol
  FROM mimiciv_icu.outputevents
  WHERE itemid IN (226559, 226560, 226561, 226584, 226563, 226564, 226565, 226567, 226557, 226558, 227488, 227489)
  GROUP BY stay_id, charttime
), w0 AS (
  SELECT i.stay_id, i.intime, i.outtime, c.charttime, c.valuenum AS weight,
         CASE WHEN c.itemid = 226512 THEN 'admit' ELSE 'daily' END AS kind,
         row_number() OVER (PARTITION BY i.stay_id, c.itemid ORDER BY c.charttime, c.valuenum) AS rn
  FROM mimiciv_icu.chartevents c JOIN mimiciv_icu.icustays i ON i.stay_id = c.stay_id
  WHERE c.itemid IN (226512, 224639) AND c.valuenum > 0
), w1 AS (
  SELECT stay_id, intime, outtime, weight, kind,
         CASE WHEN kind = 'admit' AND rn = 1 THEN intime - INTERVAL 2 HOUR ELSE charttime END AS st
  FROM w0
), w2 AS (
  SELECT stay_id, intime, weight, st,
         coalesce(lead(st) OVER (PARTITION BY stay_id ORDER BY st, kind, weight), outtime + INTERVAL 2 HOUR) AS en,
         row_number() OVER (PARTITION BY stay_id ORDER BY st, kind, weight) AS k
  FROM w1
), wt AS (
  SELECT stay_id, st, en, weight FROM w2
  UNION ALL
  SELECT stay_id, intime - INTERVAL 2 HOUR, st, weight FROM w2 WHERE k = 1 AND st > intime
),
ug AS (
  SELECT u.stay_id, u.charttime AS t, u.vol,
         CASE WHEN lag(u.charttime) OVER (PARTITION BY u.stay_id ORDER BY u.charttime) IS NULL THEN 1::DOUBLE
              ELSE epoch(u.charttime - lag(u.charttime) OVER (PARTITION BY u.stay_id ORDER BY u.charttime)) / 3600 END AS gap
  FROM uo u WHERE u.stay_id IS NOT NULL
), us AS (
  SELECT a.stay_id, a.t,
         sum(b.vol ORDER BY b.t) FILTER (WHERE b.t >= a.t - INTERVAL 6 HOUR) AS v6,
         sum(b.gap ORDER BY b.t) FILTER (WHERE b.t >= a.t - INTERVAL 6 HOUR) AS g6,
         sum(b.vol ORDER BY b.t) FILTER (WHERE b.t >= a.t - INTERVAL 12 HOUR) AS v12,
         sum(b.gap ORDER BY b.t) FILTER (WHERE b.t >= a.t - INTERVAL 12 HOUR) AS g12,
         sum(b.vol ORDER BY b.t) AS v24,
         sum(b.gap ORDER BY b.t) AS g24
  FROM ug a JOIN ug b ON b.stay_id = a.stay_id AND b.t <= a.t AND b.t >= a.t - INTERVAL 24 HOUR
  GROUP BY 1, 2
), ur AS (
  SELECT us.stay_id, i.intime, us.t, g6, g12, g24,
         CASE WHEN g6 >= 6 AND g6 < 12 THEN round(v6 / wt.weight / g6 * 1000) / 1000 END AS r6,
         CASE WHEN g12 >= 12 THEN round(v12 / wt.weight / g12 * 1000) / 1000 END AS r12,
         CASE WHEN g24 >= 24 THEN round(v24 / wt.weight / g24 * 1000) / 1000 END AS r24
  FROM us JOIN mimiciv_icu.icustays i ON i.stay_id = us.stay_id
  LEFT JOIN wt ON wt.stay_id = us.stay_id AND wt.st <= us.t AND us.t < wt.en
), ua AS (
  SELECT stay_id, max(CASE WHEN r6 IS NULL THEN NULL
              WHEN t <= intime + INTERVAL 6 HOUR THEN 0
              WHEN g24 >= 24 AND r24 < 0.3 THEN 3
              WHEN g12 >= 12 AND r12 = 0 THEN 3
              WHEN g12 >= 12 AND r12 < 0.5 THEN 2
              WHEN g6 >= 6 AND r6 < 0.5 THEN 1
              ELSE 0 END) AS s
  FROM ur WHERE t BETWEEN intime AND intime + INTERVAL 48 HOUR GROUP BY 1
), ra AS (
  SELECT i.stay_id, 3 AS s FROM mimiciv_icu.icustays i JOIN mimiciv_icu.chartevents c ON c.stay_id = i.stay_id
  WHERE c.itemid = 227290 AND c.value IS NOT NULL AND c.charttime BETWEEN i.intime AND i.intime + INTERVAL 48 HOUR
  GROUP BY 1
)
SELECT i.subject_id, i.hadm_id, i.stay_id,
       greatest(coalesce(a.s, 0), coalesce(u.s, 0), coalesce(r.s, 0)) AS aki_stage,
       coalesce(a.s, 0) AS aki_stage_creat, coalesce(u.s, 0) AS aki_stage_uo, coalesce(r.s, 0) AS aki_stage_crrt
FROM mimiciv_icu.icustays i
LEFT JOIN ca a ON a.stay_id = i.stay_id LEFT JOIN ua u ON u.stay_id = i.stay_id LEFT JOIN ra r ON r.stay_id = i.stay_id
