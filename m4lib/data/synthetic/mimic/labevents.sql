WITH item AS (
    SELECT *, 10.0 ** digits AS scale, edge_list(edges) AS list FROM labs
), rows AS (
    SELECT d.specimen_id, d.subject_id, d.hadm_id, d.key, d.at_s, i.itemid, i.unit, i.ref_low, i.ref_high,
        CASE WHEN i.list IS NOT NULL AND u('edge', d.specimen_id, i.itemid) < 0.02 THEN pick(i.list, u('edge', d.specimen_id, -i.itemid))
             ELSE round(i.scale * clamp(CASE WHEN i.log = 1
                 THEN i.mean * exp(i.sd_stay * z('person', d.person, i.itemid) + i.sd_row * z('tube', d.specimen_id, i.itemid)
                      + i.sev * d.sev + i.aki * d.aki * clamp(d.hours / 36 + 0.3, 0, 1) + i.liver * d.liver)
                 ELSE i.mean + i.sd_stay * z('person', d.person, i.itemid) + i.sd_row * z('tube', d.specimen_id, i.itemid)
                      + i.sev * d.sev + i.aki * d.aki + i.liver * d.liver END, i.low, i.high)) / i.scale END AS number
    FROM draw AS d JOIN item AS i ON d.panel = i.panel
    WHERE u('measured', d.specimen_id, i.itemid) < i.prob
), values_text AS (
    SELECT *, CASE WHEN number = floor(number) THEN number::BIGINT::VARCHAR ELSE number::VARCHAR END AS text,
        -- fractions instead of percent
        itemid = 50816 AND u('fraction', specimen_id, 0) < 0.1 AS fraction
    FROM rows
), events AS (
    SELECT specimen_id * 2048 + itemid - 50800 AS labevent_id, subject_id, hadm_id, specimen_id, itemid, key, at_s,
        CASE WHEN fraction THEN (number / 100)::VARCHAR ELSE text END AS value,
        CASE WHEN u('cancelled', specimen_id, itemid) < 0.004 THEN NULL WHEN fraction THEN (number / 100)::VARCHAR ELSE text END AS valuenum,
        unit, ref_low, ref_high, CASE WHEN number < ref_low OR number > ref_high THEN 'abnormal' END AS flag,
        -- comments with commas, quotes and line ends, as free text has them
        CASE WHEN u('comment', specimen_id, itemid) < 0.004 THEN 'HEMOLYSIS FALSELY ELEVATES THIS RESULT,' || chr(10) || 'CHECK "REPEAT" SPECIMEN.' END AS comments
    FROM values_text
    UNION ALL
    SELECT specimen_id * 2048 + 1233, subject_id, hadm_id, specimen_id, 52033, key, at_s,
        CASE WHEN u('kind', specimen_id, 0) < 0.72 THEN 'ART.' WHEN u('kind', specimen_id, 0) < 0.93 THEN 'VEN.' ELSE 'MIX.' END, NULL, NULL, NULL, NULL, NULL, NULL
    FROM draw WHERE panel = 'bg' AND u('kind', specimen_id, 1) < 0.96
    UNION ALL
    SELECT specimen_id * 2048 + 7, subject_id, hadm_id, specimen_id, 50807, key, at_s, 'SYNTHETIC', NULL, NULL, NULL, NULL, NULL, NULL
    FROM draw WHERE panel = 'bg' AND u('kind', specimen_id, 2) < 0.1
)
SELECT labevent_id, subject_id, hadm_id, specimen_id, itemid, 'PSYN' || (key % 400) AS order_provider_id, ts(at_s) AS charttime,
    ts(at_s + 2400 + 60 * (key % 40)) AS storetime, value, valuenum, unit AS valueuom, ref_low AS ref_range_lower, ref_high AS ref_range_upper, flag,
    CASE WHEN key % 3 = 0 THEN 'STAT' ELSE 'ROUTINE' END AS priority, comments
FROM events
