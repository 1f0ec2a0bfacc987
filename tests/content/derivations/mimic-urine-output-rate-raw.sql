-- mimic-urine-output-rate-raw, derived from the instruction and the skill urine-output-rate as a run receives them.
-- Written without sight of the reference query; compared with it only afterwards.
WITH uo AS (
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
), st AS (
  SELECT i.stay_id, min(c.charttime) AS t0
  FROM mimiciv_icu.icustays i JOIN mimiciv_icu.chartevents c ON c.stay_id = i.stay_id
  WHERE c.itemid = 220045 AND c.charttime > i.intime - INTERVAL 1 MONTH AND c.charttime < i.outtime + INTERVAL 1 MONTH
  GROUP BY 1
), ug AS (
  SELECT u.stay_id, u.charttime AS t, u.vol,
         epoch(u.charttime - coalesce(lag(u.charttime) OVER (PARTITION BY u.stay_id ORDER BY u.charttime), st.t0)) / 60 AS mins
  FROM uo u JOIN st ON st.stay_id = u.stay_id
), us AS (
  SELECT a.stay_id, a.t, a.vol,
         sum(b.vol ORDER BY b.t) FILTER (WHERE b.t >= a.t - INTERVAL 5 HOUR) AS v6,
         sum(b.mins ORDER BY b.t) FILTER (WHERE b.t >= a.t - INTERVAL 5 HOUR) / 60 AS h6,
         sum(b.vol ORDER BY b.t) FILTER (WHERE b.t >= a.t - INTERVAL 11 HOUR) AS v12,
         sum(b.mins ORDER BY b.t) FILTER (WHERE b.t >= a.t - INTERVAL 11 HOUR) / 60 AS h12,
         sum(b.vol ORDER BY b.t) AS v24,
         sum(b.mins ORDER BY b.t) / 60 AS h24
  FROM ug a JOIN ug b ON b.stay_id = a.stay_id AND b.t <= a.t AND b.t >= a.t - INTERVAL 23 HOUR
  GROUP BY 1, 2, 3
)
SELECT us.stay_id, us.t AS charttime, w.weight, us.vol AS uo,
       v6 AS urineoutput_6hr, v12 AS urineoutput_12hr, v24 AS urineoutput_24hr,
       CASE WHEN h6 >= 6 THEN round(v6 / w.weight / h6 * 1000) / 1000 END AS uo_mlkghr_6hr,
       CASE WHEN h12 >= 12 THEN round(v12 / w.weight / h12 * 1000) / 1000 END AS uo_mlkghr_12hr,
       CASE WHEN h24 >= 24 THEN round(v24 / w.weight / h24 * 1000) / 1000 END AS uo_mlkghr_24hr,
       round(round(h6 * 1000) / 1000 * 100) / 100 AS uo_tm_6hr,
       round(round(h12 * 1000) / 1000 * 100) / 100 AS uo_tm_12hr,
       round(round(h24 * 1000) / 1000 * 100) / 100 AS uo_tm_24hr
FROM us LEFT JOIN wt w ON w.stay_id = us.stay_id AND w.st < us.t AND us.t <= w.en AND w.weight > 0
