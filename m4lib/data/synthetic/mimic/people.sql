-- Subjects, admissions and ICU stays. Every stay has latent states between 0 and 1 (severity, kidney, liver,
-- consciousness) and treatment windows in hours from intime; all events follow from these.

CREATE TABLE subject AS
WITH counted AS (
    SELECT range AS j,
        CASE WHEN u('stays', range, 0) < 0.70 THEN 1 WHEN u('stays', range, 0) < 0.90 THEN 2
             WHEN u('stays', range, 0) < 0.97 THEN 3 ELSE 5 END AS k
    FROM range(getvariable('stays'))
), cumulated AS (
    SELECT j, k, sum(k) OVER (ORDER BY j)::BIGINT - k AS before FROM counted
)
SELECT j, 19000000 + j AS subject_id, least(k, getvariable('stays') - before)::BIGINT AS stays, before,
    CASE WHEN u('sex', j, 0) < 0.44 THEN 'F' ELSE 'M' END AS gender,
    CASE WHEN u('age', j, 0) < 0.03 THEN (18 + u('age', j, 1) * 6)::BIGINT
         WHEN u('age', j, 0) < 0.12 THEN pick([18, 23, 24, 40, 50, 53, 60, 70, 75, 77, 80, 88, 89], u('age', j, 2))
         WHEN u('age', j, 0) < 0.16 THEN 91
         ELSE clamp(round(65 + 15 * z('age', j, 3)), 19, 89)::BIGINT END AS anchor_age,
    2110 + (u('year', j, 0) * 80)::BIGINT AS anchor_year,
    pick(['2008 - 2010', '2011 - 2013', '2014 - 2016', '2017 - 2019', '2020 - 2022'], u('group', j, 0)) AS anchor_year_group,
    clamp(exp(4.35 + 0.22 * z('weight', j, 0)), 38, 240) AS weight,
    clamp(CASE WHEN u('sex', j, 0) < 0.44 THEN 162 ELSE 175 END + 8 * z('height', j, 0), 118, 232) AS height
FROM cumulated
WHERE before < getvariable('stays');

-- ICU stays in order within the subject; some share the admission of the one before
CREATE TABLE planned AS
WITH one AS (
    SELECT j, s, before + s AS n, s > 0 AND u('same', j, s) < 0.35 AS same
    FROM subject, unnest(range(stays)) AS r(s)
)
SELECT j, s, n, sum(CASE WHEN same THEN 0 ELSE 1 END) OVER (PARTITION BY j ORDER BY s)::BIGINT AS g,
    u('hour', n, 0) < 0.3 AS on_hour,
    clamp(exp(3.8 + 0.95 * z('los', n, 0)), 1.5, 500) AS los,
    CASE WHEN u('gap', n, 0) < 0.1 THEN 1 ELSE 6 + (u('gap', n, 1) * 80)::BIGINT END AS gap
FROM one;

CREATE TABLE admission AS
WITH icu AS (
    SELECT j, g, true AS icu, sum(ceil(los) + gap)::BIGINT AS hours,
        CASE WHEN u('pre', min(n), 0) < 0.03 THEN -1800
             WHEN u('pre', min(n), 0) < 0.13
                 THEN pick([0, 611, 612, 613, 17819, 17820, 17821, 86399, 86400, 86401, 1122479, 1122480], u('pre', min(n), 1))
             WHEN u('pre', min(n), 0) < 0.6 THEN 60 + (u('pre', min(n), 1) * 36000)::BIGINT
             ELSE (clamp(exp(10.6 + 1.1 * z('pre', min(n), 2)), 600, 2500000))::BIGINT END AS pre_s
    FROM planned GROUP BY j, g
), ward AS (
    SELECT j, 100 + w AS g, false AS icu, 8 + (u('ward', j, w) ** 2 * 260)::BIGINT AS hours, 0 AS pre_s
    FROM subject, unnest(range((u('wards', j, 0) * getvariable('wards'))::BIGINT)) AS r(w)
), everyone AS (
    SELECT *, (u('post', j, g) ** 3 * 400)::BIGINT AS post_h, 24 + (u('home', j, g) ** 2 * 24 * 260)::BIGINT AS away_h
    FROM (SELECT * FROM icu UNION ALL SELECT * FROM ward)
), ordered AS (
    SELECT *, row_number() OVER (PARTITION BY j ORDER BY h('order', j, g)) AS a FROM everyone
), placed AS (
    SELECT o.*, sum(hours + post_h + away_h + pre_s // 3600) OVER (PARTITION BY j ORDER BY a) - (hours + post_h + away_h) AS start_h
    FROM ordered AS o
)
SELECT p.j, p.g, p.a, p.icu, p.hours, p.post_h, p.pre_s, s.subject_id,
    29000000 + row_number() OVER (ORDER BY p.j, p.a) - 1 AS hadm_id,
    -- the hour of the first intime; a few admissions lie before the anchor year, so that age is below anchor_age
    epoch(date_trunc('hour', make_timestamp(s.anchor_year, 1, 1, 0, 0, 0.0)))::BIGINT
        + 3600 * (((u('base', p.j, 0) * 7000)::BIGINT - CASE WHEN u('base', p.j, 1) < 0.05 THEN 8000 ELSE 0 END) + p.start_h)::BIGINT AS t0
FROM placed AS p JOIN subject AS s USING (j);

CREATE TABLE stay AS
WITH timed AS (
    SELECT p.*, a.hadm_id, a.subject_id, a.t0,
        sum(ceil(p.los) + p.gap) OVER (PARTITION BY p.j, p.g ORDER BY p.s)::BIGINT - (ceil(p.los) + p.gap)::BIGINT AS shift,
        row_number() OVER (PARTITION BY p.j, p.g ORDER BY p.s DESC) = 1 AS last_of_admission
    FROM planned AS p JOIN admission AS a ON p.j = a.j AND p.g = a.g
), latent AS (
    SELECT *, 39000000 + n AS stay_id,
        t0 + 3600 * shift + CASE WHEN on_hour THEN 0 ELSE (u('jitter', n, 0) * 3599)::BIGINT END AS in_s,
        (CASE WHEN on_hour THEN ceil(los) * 3600 ELSE los * 3600 END)::BIGINT AS los_s,
        u('sev', n, 0) ** 1.5 AS sev,
        CASE WHEN u('aki', n, 0) < 0.35 THEN 0.2 + 0.8 * u('aki', n, 1) ELSE 0.15 * u('aki', n, 1) END AS aki,
        CASE WHEN u('liver', n, 0) < 0.13 THEN 0.2 + 0.8 * u('liver', n, 1) ELSE 0.1 * u('liver', n, 1) END AS liver,
        CASE WHEN u('cns', n, 0) < 0.3 THEN 1.1 * u('cns', n, 1) ELSE 0.25 * u('cns', n, 1) END AS cns
    FROM timed
)
SELECT subject_id, hadm_id, stay_id, n, j, g, s, on_hour, last_of_admission, in_s, in_s + los_s AS out_s, los_s,
    sev, aki, liver, cns,
    u('vent', n, 0) < 0.25 + 0.5 * sev AS vent, (u('vent', n, 1) * 14)::BIGINT - 3 AS vent_from, 3 + (u('vent', n, 2) ** 2 * 120)::BIGINT AS vent_hours,
    u('vaso', n, 0) < 0.2 + 0.6 * sev AS vaso, (u('vaso', n, 1) * 20)::BIGINT - 4 AS vaso_from,
    u('art', n, 0) < 0.3 + 0.5 * sev AS art,
    u('icp', n, 0) < 0.05 AS icp,
    aki > 0.45 AND u('crrt', n, 0) < 0.35 AS crrt, (u('crrt', n, 1) * 40)::BIGINT AS crrt_from, 12 + (u('crrt', n, 2) * 80)::BIGINT AS crrt_hours,
    u('hd', n, 0) < 0.06 AS hd, u('pd', n, 0) < 0.02 AS pd,
    u('trach', n, 0) < 0.05 AS trach,
    u('infected', n, 0) < 0.55 AS infected,
    u('quiet', n, 0) < 0.015 AS uncharted,
    pick([1, 2, 4, 4, 4, 6, 14], u('resp', n, 0)) AS resp_every,
    pick([5, 6, 8, 12, 14, 20], u('resp', n, 1)) AS resp_segment,
    pick([1, 2, 4, 4, 4, 6, 8], u('gcs', n, 0)) AS gcs_every,
    pick([1, 1, 1, 2, 2, 3, 4], u('urine', n, 0)) AS urine_every,
    u('hamilton', n, 0) < 0.3 AS hamilton
FROM latent;

-- one row an hour of charting, from up to 8 hours before admission to a little after discharge
CREATE TABLE grid AS
WITH hours AS (
    SELECT s.*, r.hour,
        CASE WHEN on_hour THEN in_s ELSE in_s - in_s % 3600 + 3600 END + r.hour * 3600 AS hour_s
    FROM stay AS s, unnest(range(
        CASE WHEN u('early', s.n, 0) < 0.15 THEN -8 WHEN u('early', s.n, 0) < 0.2 THEN -6 ELSE 0 END,
        (s.los_s // 3600 + 1 + CASE WHEN u('late', s.n, 0) < 0.1 THEN 3 ELSE 0 END)::BIGINT)) AS r(hour)
    WHERE NOT s.uncharted
), states AS (
    SELECT *, n * 1024 + hour + 16 AS key,
        vent AND hour >= vent_from AND hour < vent_from + vent_hours AS on_vent,
        crrt AND hour >= crrt_from AND hour < crrt_from + crrt_hours AS on_crrt,
        n * 1024 + (hour + 16) // resp_segment AS segment
    FROM hours
)
SELECT subject_id, hadm_id, stay_id, n, hour, key, sev, aki, cns, hamilton, resp_every, gcs_every, urine_every, los_s,
    hour % 24 AS of_day,
    n * 1024 + (hour + 16) // 24 AS day,
    CASE WHEN u('minute', key, 0) < 0.08 THEN hour_s + 60 * (1 + (u('minute', key, 1) * 58)::BIGINT)
         WHEN u('minute', key, 0) < 0.085 THEN hour_s + 1 ELSE hour_s END AS at_s,
    hour_s,
    on_vent::BIGINT + art::BIGINT * 2 + on_crrt::BIGINT * 4 + icp::BIGINT * 8 + hd::BIGINT * 16 + pd::BIGINT * 32 AS mask,
    CASE WHEN on_vent THEN 'vent'
         WHEN trach AND u('state', segment, 0) < 0.8 THEN 'trach'
         WHEN u('state', segment, 0) < 0.08 + 0.1 * sev THEN 'niv'
         WHEN u('state', segment, 0) < 0.2 + 0.15 * sev THEN 'hfnc'
         WHEN u('state', segment, 0) < 0.66 THEN 'oxygen'
         WHEN u('state', segment, 0) < 0.9 THEN 'none' ELSE 'other' END AS state,
    u('device', segment, 1) AS device
FROM states;
