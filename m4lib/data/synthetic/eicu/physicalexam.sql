WITH exam AS (
    SELECT *, n * 16 + r.k AS exam, (r.k * 700 + (u('exam', n, r.k) * 300)::BIGINT) * CASE WHEN u('exam', n, 100 + r.k) < 0.05 THEN -1 ELSE 1 END AS minutes,
        3 + (12 * (1 - clamp(cns + 0.1 * z('exam', n, r.k), 0, 1)))::BIGINT AS total
    FROM patient_stay, unnest(range(3)) AS r(k) WHERE u('exam', n, 50) < 0.8
), rows AS (
    SELECT patientunitstayid, exam * 8 AS id, minutes, 'notes/Progress Notes/Physical Exam/Physical Exam/Neurologic/GCS/' || total AS path,
        CASE WHEN u('exam', exam, 7) < 0.02 THEN 'unable' ELSE total::VARCHAR END AS value FROM exam WHERE gcs_habit IN ('exam', 'nothing', 'components') OR u('exam', exam, 3) < 0.3
    UNION ALL SELECT patientunitstayid, exam * 8 + 1, minutes, 'notes/Progress Notes/Physical Exam/Physical Exam/Neurologic/GCS/Motor Score/6', '6' FROM exam WHERE u('exam', exam, 4) < 0.5
    UNION ALL SELECT patientunitstayid, exam * 8 + 2, minutes, 'notes/Progress Notes/Physical Exam/Physical Exam/Neurologic/GCS/Score/scored', 'scored' FROM exam WHERE u('exam', exam, 5) < 0.5
    UNION ALL SELECT patientunitstayid, exam * 8 + 3, minutes, 'notes/Progress Notes/Physical Exam/Physical Exam/Constitutional/Vital Sign and Physiological Data/HR/HR Current', (70 + exam % 60)::VARCHAR FROM exam
)
SELECT id AS physicalexamid, patientunitstayid, minutes AS physicalexamoffset, path AS physicalexampath, value AS physicalexamvalue, value AS physicalexamtext FROM rows ORDER BY id
