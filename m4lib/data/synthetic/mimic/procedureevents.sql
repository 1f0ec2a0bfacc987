WITH done AS (
    SELECT s.*, p.itemid, p.label, p.category, p.line, row_number() OVER (PARTITION BY s.n ORDER BY p.itemid) AS nth,
        s.in_s + 60 * CASE p.needs WHEN 'vent' THEN greatest(s.vent_from, 0) * 60 WHEN 'crrt' THEN s.crrt_from * 60 ELSE (u('when', s.n, p.itemid) * 1440)::BIGINT END AS from_s
    FROM stay AS s, procedures AS p
    WHERE u('done', s.n, p.itemid) < p.chance
        AND CASE p.needs WHEN 'vent' THEN s.vent WHEN 'art' THEN s.art WHEN 'icp' THEN s.icp WHEN 'crrt' THEN s.crrt WHEN 'hd' THEN s.hd WHEN 'pd' THEN s.pd
            WHEN 'rrt' THEN s.crrt OR s.hd ELSE true END
), timed AS (
    SELECT *, n * 64 + nth AS key, CASE WHEN category = 'Dialysis' AND itemid = 225441 THEN 240
        WHEN line = 1 OR category LIKE '2-%' OR category = 'Dialysis' THEN greatest(1, (los_s // 60 * u('lasts', n, itemid))::BIGINT) ELSE 1 END AS minutes
    FROM done
)
SELECT t.subject_id, t.hadm_id, t.stay_id, 90000 + key % 997 AS caregiver_id, ts(from_s) AS starttime, ts(from_s + 60 * minutes) AS endtime, ts(from_s + 60 * minutes) AS storetime,
    itemid, CASE WHEN u('empty', key, 0) < 0.02 THEN NULL ELSE minutes END AS value, CASE WHEN minutes = 1 THEN 'None' ELSE 'min' END AS valueuom,
    CASE WHEN line = 1 THEN pick(['Right Radial', 'Left Radial', 'Right IJ', 'Left IJ', 'Right Femoral', 'Right Femoral.', 'Left Femoral', 'Left Femoral.', 'Right Antecub',
        'Right Antecube ', 'Left Antecub', 'Left Antecube', 'Right Brachial', 'Right Brachial.', 'Left Axilla', 'Left Axilla.', 'Right IJ.', 'Right Subclavian', NULL], u('site', key, 0)) END AS location,
    CASE WHEN line = 1 THEN 'Invasive Venous' END AS locationcategory, 5000000 + key AS orderid, 5000000 + key AS linkorderid,
    category AS ordercategoryname, CASE WHEN minutes = 1 THEN 'Task' ELSE 'ContinuousProcess' END AS ordercategorydescription, round(p.weight, 1) AS patientweight,
    0 AS isopenbag, 0 AS continueinnextdept, 'FinishedRunning' AS statusdescription, minutes AS originalamount, 1 AS originalrate
FROM timed AS t JOIN subject AS p USING (j)
