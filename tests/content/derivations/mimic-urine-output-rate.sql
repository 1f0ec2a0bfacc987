-- mimic-urine-output-rate, derived from the instruction and the skill urine-output-rate as a run receives them.
-- Written without sight of the reference query; compared with it only afterwards.
WITH st AS (
  SELECT i.stay_id, min(c.charttime) AS t0
  FROM mimiciv_icu.icustays i JOIN mimiciv_icu.chartevents c ON c.stay_id = i.stay_id
  WHERE c.itemid = 220045 AND c.charttime > i.intime - INTERVAL 1 MONTH AND c.charttime < i.outtime + INTERVAL 1 MONTH
  GROUP BY 1
), ug AS (
  SELECT u.stay_id, u.charttime AS t, u.vol,
         epoch(u.charttime - coalesce(lag(u.charttime) OVER (PARTITION BY u.stay_id ORDER BY u.charttime), st.t0)) / 60 AS mins
  FROM (SELECT stay_id, charttime, urineoutput AS vol FROM mimiciv_derived.urine_output) u JOIN st ON st.stay_id = u.stay_id
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
FROM us LEFT JOIN (SELECT stay_id, starttime AS st, endtime AS en, weight FROM mimiciv_derived.weight_durations) w ON w.stay_id = us.stay_id AND w.st < us.t AND us.t <= w.en AND w.weight > 0
