WITH coded AS (
    -- the coding system changed during the years; a few admissions have no codes at all
    SELECT subject_id, hadm_id, r.k, CASE WHEN u('icd', hadm_id, 0) < 0.45 THEN 9 ELSE 10 END AS version
    FROM visit, unnest(range(1 + (u('codes', hadm_id, 0) ** 2 * 18)::BIGINT)) AS r(k) WHERE u('uncoded', hadm_id, 0) > 0.02
), picked AS (
    SELECT *, CASE WHEN version = 9 THEN pick(getvariable('diagnosis9_rows'), u('code', hadm_id, k)) ELSE pick(getvariable('diagnosis10_rows'), u('code', hadm_id, k)) END AS row FROM coded
)
SELECT p.subject_id, p.hadm_id, p.k + 1 AS seq_num, d.code AS icd_code, p.version AS icd_version
FROM picked AS p JOIN diagnoses AS d ON d.rowid + 1 = p.row ORDER BY p.hadm_id, p.k
