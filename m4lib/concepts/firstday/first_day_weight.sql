-- first_day_weight: body weight on the first ICU day.
--
-- Grain:  one row per ICU stay (every row of icustays; NULL where no weight is known).
-- Window: every weight interval of the stay that begins by intime + 24 h (included); no lower
--         bound, and the end of the interval is not looked at.
-- Note:   each interval has one vote, whatever its length. The interval that `weight_durations`
--         adds before a late first weighing counts as one more.
-- Source: MIMIC-IV derived concept `first_day_weight` (MIT-LCP mimic-code, concepts/firstday).
-- Units:  kg, not rounded.
SELECT
    ie.subject_id,
    ie.stay_id,
    AVG(wd.weight ORDER BY wd.starttime, wd.weight) FILTER (WHERE wd.weight_type = 'admit') AS weight_admit,
    AVG(wd.weight ORDER BY wd.starttime, wd.weight) AS weight,
    MIN(wd.weight) AS weight_min,
    MAX(wd.weight) AS weight_max
FROM mimiciv_icu.icustays AS ie
LEFT JOIN mimiciv_derived.weight_durations AS wd
    ON ie.stay_id = wd.stay_id
    AND wd.starttime <= ie.intime + INTERVAL '1' DAY
GROUP BY ie.subject_id, ie.stay_id
