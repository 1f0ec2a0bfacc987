WITH grown AS (
    SELECT c.*, u('grows', key, 0) < 0.35 AS grows, r.k FROM culture AS c, unnest(range(CASE WHEN u('grows', key, 0) < 0.35 THEN 1 + (u('grows', key, 1) * 3)::BIGINT ELSE 1 END)) AS r(k)
), named AS (
    SELECT g.*, o.org_itemid, o.org_name
    FROM (SELECT *, CASE WHEN grows THEN pick(getvariable('organism_rows'), u('organism', key, k)) END AS organism FROM grown) AS g LEFT JOIN organisms AS o ON o.rowid + 1 = g.organism
)
SELECT 3000000 + row_number() OVER (ORDER BY micro_specimen_id, k) AS microevent_id, subject_id, hadm_id, micro_specimen_id, 'PSYN' || (key % 400) AS order_provider_id,
    date_trunc('day', ts(at_s)) AS chartdate, CASE WHEN timed THEN ts(at_s) END AS charttime, spec_itemid, spec_type_desc, 1 AS test_seq,
    date_trunc('day', ts(at_s + 172800)) AS storedate, ts(at_s + 172800) AS storetime, test_itemid, test_name, org_itemid, org_name,
    CASE WHEN grows THEN k + 1 END AS isolate_num, NULL AS quantity, CASE WHEN grows THEN 90000 + k END AS ab_itemid, CASE WHEN grows THEN pick(['CEFTRIAXONE', 'VANCOMYCIN', 'MEROPENEM'], u('ab', key, k)) END AS ab_name,
    CASE WHEN grows THEN '<=1' END AS dilution_text, CASE WHEN grows THEN '<=' END AS dilution_comparison, CASE WHEN grows THEN 1 END AS dilution_value,
    CASE WHEN grows THEN pick(['S', 'R', 'I'], u('sir', key, k)) END AS interpretation, CASE WHEN NOT grows THEN 'NO GROWTH.' END AS comments
FROM named ORDER BY microevent_id
