SELECT key AS vitalaperiodicid, patientunitstayid, minutes AS observationoffset, round(126 - 28 * sev + 12 * z('a', key, 1)) AS noninvasivesystolic, round(67 - 14 * sev + 8 * z('a', key, 2)) AS noninvasivediastolic,
    round(84 - 18 * sev + 9 * z('a', key, 3)) AS noninvasivemean, NULL AS paop, NULL AS cardiacoutput, NULL AS cardiacinput, NULL AS svr, NULL AS svri, NULL AS pvr, NULL AS pvri
FROM grid WHERE u('a', key, 0) < 0.5
