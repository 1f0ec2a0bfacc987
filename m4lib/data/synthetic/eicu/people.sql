-- Unit stays with latent states between 0 and 1, as for MIMIC-IV; offsets are minutes from unit admission.

CREATE TABLE person AS
SELECT range AS n, 9000000 + range AS patientunitstayid,
    900000 + range - CASE WHEN range > 0 AND u('same', range, 0) < 0.12 THEN 1 ELSE 0 END AS healthsystem,
    clamp(exp(7.9 + 0.85 * z('los', range, 0)), 45, 30000)::BIGINT AS los,
    900 + (u('hospital', range, 0) * 40)::BIGINT AS hospitalid,
    u('sev', range, 0) ** 1.5 AS sev,
    CASE WHEN u('aki', range, 0) < 0.35 THEN 0.2 + 0.8 * u('aki', range, 1) ELSE 0.15 * u('aki', range, 1) END AS aki,
    CASE WHEN u('cns', range, 0) < 0.3 THEN 1.1 * u('cns', range, 1) ELSE 0.25 * u('cns', range, 1) END AS cns,
    u('sharp', range, 0) < 0.3 AS on_hour,
    u('quiet', range, 0) < 0.04 AS uncharted
FROM range(getvariable('stays'));

-- charting habits belong to the hospital
CREATE TABLE patient_stay AS
SELECT *,
    u('art', n, 0) < 0.2 + 0.5 * sev AS art,
    u('vent', n, 0) < 0.2 + 0.5 * sev AS vent,
    u('celsius', hospitalid, 0) < 0.75 AS celsius,
    u('map', hospitalid, 0) < 0.3 AS map_charted,
    pick(['both', 'both', 'total', 'components', 'score', 'exam', 'nothing'], u('gcs', hospitalid, 0)) AS gcs_habit,
    pick([1, 1, 2, 4], u('urine', hospitalid, 0)) AS urine_every,
    CASE WHEN u('age', n, 0) < 0.05 THEN '> 89'
         WHEN u('age', n, 0) < 0.15 THEN pick(['18', '23', '24', '53', '54', '77', '78', '89'], u('age', n, 1))
         WHEN u('age', n, 0) < 0.155 THEN NULL
         ELSE clamp(round(64 + 15 * z('age', n, 2)), 18, 89)::BIGINT::VARCHAR END AS age,
    CASE WHEN u('died', n, 0) < 0.5 * sev ** 2 THEN 'Expired' ELSE 'Alive' END AS status
FROM person;

CREATE TABLE grid AS
WITH hours AS (
    SELECT p.*, r.hour, p.n * 1024 + r.hour + 16 AS key
    FROM patient_stay AS p, unnest(range(CASE WHEN u('early', p.n, 0) < 0.25 THEN -7 ELSE 0 END, p.los // 60 + 1 + CASE WHEN u('late', p.n, 0) < 0.1 THEN 3 ELSE 0 END)) AS r(hour)
    WHERE NOT p.uncharted
)
SELECT *,
    hour * 60 + CASE WHEN on_hour AND u('edge', key, 0) < 0.8 THEN 0 WHEN on_hour THEN pick([-1, 1], u('edge', key, 1)) ELSE (u('minute', n, 0) * 59)::BIGINT END AS minutes,
    art::BIGINT + celsius::BIGINT * 2 + map_charted::BIGINT * 4 AS mask
FROM hours;

SET VARIABLE urine_labels = (SELECT list(label ORDER BY rowid, range) FROM (SELECT rowid, label, range FROM (SELECT rowid, * FROM eicu_urine), range(share)));
