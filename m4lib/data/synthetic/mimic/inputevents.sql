WITH patient AS (
    SELECT s.*, p.weight FROM stay AS s JOIN subject AS p USING (j)
), started AS (
    SELECT p.*, i.*, row_number() OVER (PARTITION BY p.n ORDER BY i.itemid) AS nth,
        p.in_s + CASE i.needs WHEN 'vaso' THEN p.vaso_from * 3600 WHEN 'vent' THEN greatest(p.vent_from, -6) * 3600 WHEN 'crrt' THEN p.crrt_from * 3600
            ELSE 0 END + 60 * (u('start', p.n, i.itemid) * 600)::BIGINT AS from_s
    FROM patient AS p, infusions AS i
    WHERE u('given', p.n, i.itemid) < i.chance
        AND CASE i.needs WHEN 'vaso' THEN p.vaso WHEN 'vent' THEN p.vent WHEN 'crrt' THEN p.crrt ELSE true END
), cut AS (
    -- starts on the window's edges for some
    SELECT * REPLACE (CASE WHEN needs = 'vaso' AND on_hour AND u('start', n, itemid + 1) < 0.15
        THEN in_s + pick([-21600, -21601, 86400, 86401, 0], u('start', n, itemid + 2)) ELSE from_s END AS from_s)
    FROM started
), segment AS (
    SELECT c.*, r.k, n * 4096 + nth * 64 + r.k AS key,
        c.from_s + r.k * c.segment_min * 60 + CASE WHEN r.k > 0 AND u('gap', n * 4096 + nth * 64 + r.k, 0) < 0.1 THEN 1800 ELSE 0 END AS start_s,
        -- a rate now and then runs on into the next one
        c.from_s + (r.k + 1) * c.segment_min * 60 + CASE WHEN u('overlap', n * 4096 + nth * 64 + r.k, 0) < 0.05 THEN 900 ELSE 0 END AS end_s
    FROM cut AS c, unnest(range(1 + (u('length', c.n, c.itemid) * c.segments)::BIGINT)) AS r(k)
), dosed AS (
    SELECT *, rate IS NOT NULL AND u('unit', key, 0) < altchance AS other_unit,
        CASE WHEN rate IS NULL OR u('dose', key, 1) < 0.01 THEN NULL
             WHEN edges IS NOT NULL AND u('dose', key, 2) < 0.08 THEN pick(edge_list(edges), u('dose', key, 3))
             ELSE round(10.0 ** digits * rate * exp(spread * z('dose', n, itemid) + 0.25 * z('dose', key, 4))) / 10.0 ** digits END AS per_kg
    FROM segment
), final AS (
    SELECT *, CASE WHEN per_kg IS NULL THEN NULL WHEN other_unit THEN per_kg * altfactor ELSE per_kg END AS given_rate,
        CASE WHEN rate IS NULL THEN NULL WHEN other_unit THEN altuom ELSE rateuom END AS unit,
        CASE WHEN other_unit AND itemid = 221906 AND u('light', key, 0) < 0.3 THEN 1.0 ELSE round(weight, 1) END AS kg,
        CASE WHEN itemid IN (227536, 227525) AND u('none', key, 0) < 0.05 THEN 0
             WHEN rate IS NULL THEN round(50 + 450 * u('bolus', key, 0)) ELSE round(coalesce(per_kg, 0) * (end_s - start_s) / 36.0) / 100 END AS volume
    FROM dosed
)
SELECT subject_id, hadm_id, stay_id, 90000 + key % 997 AS caregiver_id, ts(start_s) AS starttime, ts(end_s) AS endtime, ts(end_s + 60) AS storetime, itemid,
    volume AS amount, CASE WHEN rate IS NULL THEN 'mL' ELSE string_split(rateuom, '/')[1] END AS amountuom, given_rate AS rate, unit AS rateuom,
    1000000 + key AS orderid, 1000000 + key - k AS linkorderid,
    CASE needs WHEN 'vaso' THEN '01-Drips' WHEN 'bolus' THEN '14-Oral/Gastric Intake' ELSE '02-Fluids (Crystalloids)' END AS ordercategoryname,
    NULL AS secondaryordercategoryname, 'Main order parameter' AS ordercomponenttypedescription,
    CASE WHEN rate IS NULL THEN 'Bolus' WHEN needs = 'vaso' THEN 'Continuous Med' ELSE 'Continuous IV' END AS ordercategorydescription,
    kg AS patientweight, volume AS totalamount, 'mL' AS totalamountuom, 0 AS isopenbag, 0 AS continueinnextdept,
    CASE WHEN u('rewritten', key, 0) < 0.03 THEN 'Rewritten' WHEN rate IS NULL THEN 'FinishedRunning' ELSE 'ChangeDose/Rate' END AS statusdescription,
    volume AS originalamount, given_rate AS originalrate
FROM final
