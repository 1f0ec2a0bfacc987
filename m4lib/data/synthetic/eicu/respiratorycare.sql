WITH care AS (
    SELECT *, n * 8 + r.k AS id, (u('care', n, r.k) * 2400)::BIGINT - 300 AS minutes, vent OR u('care', n, 40 + r.k) < 0.05 AS tube FROM patient_stay, unnest(range(3)) AS r(k) WHERE vent OR u('care', n, 20) < 0.2
)
SELECT id AS respcareid, patientunitstayid, minutes AS respcarestatusoffset, k + 1 AS currenthistoryseqnum,
    CASE WHEN tube AND u('tube', id, 0) < 0.6 THEN pick(['Oral ETT', 'Tracheostomy', 'Nasal ETT'], u('tube', n, 1)) WHEN u('tube', id, 5) < 0.05 THEN 'No Artificial Airway' END AS airwaytype,
    CASE WHEN tube AND u('tube', id, 2) < 0.6 THEN pick(['7.0', '7.5', '8.0', 'N/A'], u('tube', n, 3)) END AS airwaysize,
    CASE WHEN tube AND u('tube', id, 4) < 0.5 THEN pick(['Right', 'Center', '23', '24'], u('tube', n, 6)) END AS airwayposition,
    CASE WHEN tube AND u('tube', id, 7) < 0.2 THEN 25 END AS cuffpressure, greatest(minutes, 0) AS ventstartoffset, CASE WHEN tube THEN least(los, minutes + 2000) ELSE 0 END AS ventendoffset,
    0 AS priorventstartoffset, 0 AS priorventendoffset, NULL AS apneaparams, NULL AS lowexhmvlimit, NULL AS hiexhmvlimit, NULL AS lowexhtvlimit, NULL AS hipeakpreslimit, NULL AS lowpeakpreslimit,
    NULL AS hirespratelimit, NULL AS lowrespratelimit, NULL AS sighpreslimit, NULL AS lowironoxlimit, NULL AS highironoxlimit, NULL AS meanairwaypreslimit, NULL AS peeplimit, NULL AS cpaplimit,
    NULL AS setapneainterval, CASE WHEN tube AND u('tube', id, 8) < 0.05 THEN '500' END AS setapneatv, NULL AS setapneaippeephigh, NULL AS setapnearr, NULL AS setapneapeakflow, NULL AS setapneainsptime, NULL AS setapneaie, NULL AS setapneafio2
FROM care ORDER BY id
