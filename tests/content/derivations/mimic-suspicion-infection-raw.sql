-- mimic-suspicion-infection-raw, derived from the instruction and the skill suspicion-of-infection as a run receives them.
-- Written without sight of the reference query; compared with it only afterwards.
WITH nm(s) AS (VALUES ('adoxa'), ('ala-tet'), ('alodox'), ('amikacin'), ('amikin'), ('amoxicill'), ('amphotericin'), ('ampicillin'), ('ancef'), ('anidulafungin'), ('augmentin'), ('avelox'), ('avidoxy'), ('axetil'), ('azactam'), ('azithromycin'), ('aztreonam'), ('bactocill'), ('bactrim'), ('bactroban'), ('bethkis'), ('biaxin'), ('bicillin l-a'), ('cayston'), ('cedax'), ('cefaclor'), ('cefadroxil'), ('cefazolin'), ('cefdinir'), ('cefditoren'), ('cefepime'), ('cefotan'), ('cefotaxime'), ('cefotetan'), ('cefoxitin'), ('cefpirome'), ('cefpodoxime'), ('cefprozil'), ('ceftaroline'), ('ceftazidime'), ('ceftibuten'), ('ceftin'), ('ceftriaxone'), ('cefuroxime'), ('cephalexin'), ('cephalothin'), ('cephapririn'), ('chloramphenicol'), ('cipro'), ('ciprofloxacin'), ('claforan'), ('clarithromycin'), ('clavulanate'), ('cleocin'), ('clindamycin'), ('cubicin'), ('dicloxacillin'), ('dirithromycin'), ('doryx'), ('doxycy'), ('duricef'), ('dynacin'), ('ery-tab'), ('eryc'), ('eryped'), ('erythrocin'), ('erythromycin'), ('factive'), ('flagyl'), ('fortaz'), ('furadantin'), ('garamycin'), ('gentamicin'), ('kanamycin'), ('keflex'), ('kefzol'), ('ketek'), ('levaquin'), ('levofloxacin'), ('lincocin'), ('linezolid'), ('macrobid'), ('macrodantin'), ('maxipime'), ('mefoxin'), ('meropenem'), ('methicillin'), ('metronidazole'), ('minocin'), ('minocycline'), ('monodox'), ('monurol'), ('morgidox'), ('moxatag'), ('moxifloxacin'), ('mupirocin'), ('myrac'), ('nafcillin'), ('neomycin'), ('nicazel doxy 30'), ('nitrofurantoin'), ('norfloxacin'), ('noroxin'), ('ocudox'), ('ofloxacin'), ('omnicef'), ('oracea'), ('oraxyl'), ('oxacillin'), ('panixine'), ('pc pen vk'), ('pce dispertab'), ('pediazole'), ('penicillin'), ('periostat'), ('pfizerpen'), ('piperacillin'), ('primsol'), ('proquin'), ('raniclor'), ('rifadin'), ('rifampin'), ('rocephin'), ('septra'), ('septra ds'), ('smz-tmp'), ('solodyn'), ('spectracef'), ('streptomycin'), ('sulfadiazine'), ('sulfamethoxazole'), ('sulfatrim'), ('sulfisoxazole'), ('suprax'), ('synercid'), ('tazicef'), ('tazobactam'), ('tetracycline'), ('timentin'), ('tobramycin'), ('trimethoprim'), ('unasyn'), ('vancocin'), ('vancomycin'), ('vantin'), ('vibativ'), ('vibra-tabs'), ('vibramycin'), ('zinacef'), ('zithromax'), ('zosyn'), ('zyvox')),
pairs AS (
  SELECT DISTINCT p.drug, p.route FROM mimiciv_hosp.prescriptions p
  WHERE p.drug_type <> 'BASE' AND p.route IS NOT NULL
    AND p.route NOT IN ('OU', 'OS', 'OD', 'AU', 'AS', 'AD', 'TP')
    AND NOT contains(lower(p.route), 'ear') AND NOT contains(lower(p.route), 'eye')
    AND NOT contains(lower(p.drug), 'cream') AND NOT contains(lower(p.drug), 'desensitization')
    AND NOT contains(lower(p.drug), 'ophth oint') AND NOT contains(lower(p.drug), 'gel')
    AND EXISTS (SELECT 1 FROM nm WHERE contains(lower(p.drug), nm.s))
), ab AS (
  SELECT p.subject_id, p.hadm_id, i.stay_id, p.drug, p.starttime, p.stoptime
  FROM mimiciv_hosp.prescriptions p JOIN pairs q ON q.drug = p.drug AND q.route = p.route
  LEFT JOIN mimiciv_icu.icustays i ON i.hadm_id = p.hadm_id AND i.intime <= p.starttime AND p.starttime < i.outtime
),
cul AS (
  SELECT micro_specimen_id, max(subject_id) AS subject_id, max(charttime) AS charttime, max(chartdate)::DATE AS chartdate,
         max(spec_type_desc) AS specimen,
         max(CASE WHEN org_name IS NOT NULL AND org_name <> '' AND org_itemid <> 90856 THEN 1 ELSE 0 END) AS positive
  FROM mimiciv_hosp.microbiologyevents GROUP BY micro_specimen_id
), abn AS (
  SELECT *, row_number() OVER (PARTITION BY subject_id ORDER BY starttime NULLS FIRST, stoptime NULLS FIRST, drug NULLS FIRST,
                               hadm_id NULLS FIRST, stay_id NULLS FIRST) AS ab_id
  FROM ab
), b AS (
  SELECT a.subject_id, a.ab_id, c.*EXCLUDE (subject_id),
         row_number() OVER (PARTITION BY a.subject_id, a.ab_id
           ORDER BY c.chartdate NULLS FIRST, c.charttime NULLS FIRST, c.micro_specimen_id NULLS FIRST) AS k
  FROM abn a JOIN cul c ON c.subject_id = a.subject_id
   AND ((c.charttime IS NOT NULL AND c.charttime < a.starttime AND a.starttime <= c.charttime + INTERVAL 72 HOUR)
     OR (c.charttime IS NULL AND c.chartdate <= a.starttime::DATE AND a.starttime::DATE <= c.chartdate + 3))
), af AS (
  SELECT a.subject_id, a.ab_id, c.*EXCLUDE (subject_id),
         row_number() OVER (PARTITION BY a.subject_id, a.ab_id
           ORDER BY c.chartdate NULLS FIRST, c.charttime NULLS FIRST, c.micro_specimen_id NULLS FIRST) AS k
  FROM abn a JOIN cul c ON c.subject_id = a.subject_id
   AND ((c.charttime IS NOT NULL AND c.charttime - INTERVAL 24 HOUR <= a.starttime AND a.starttime < c.charttime)
     OR (c.charttime IS NULL AND c.chartdate - 1 <= a.starttime::DATE AND a.starttime::DATE <= c.chartdate))
)
SELECT a.subject_id, a.stay_id, a.hadm_id, a.ab_id, a.drug AS antibiotic, a.starttime AS antibiotic_time,
       CASE WHEN b.specimen IS NULL AND f.specimen IS NULL THEN 0 ELSE 1 END AS suspected_infection,
       CASE WHEN b.specimen IS NULL AND f.specimen IS NULL THEN NULL
            WHEN b.ab_id IS NOT NULL THEN coalesce(b.charttime, b.chartdate::TIMESTAMP)
            ELSE a.starttime END AS suspected_infection_time,
       coalesce(b.charttime, b.chartdate::TIMESTAMP, f.charttime, f.chartdate::TIMESTAMP) AS culture_time,
       coalesce(b.specimen, f.specimen) AS specimen,
       coalesce(b.positive, f.positive) AS positive_culture
FROM abn a
LEFT JOIN b ON b.subject_id = a.subject_id AND b.ab_id = a.ab_id AND b.k = 1
LEFT JOIN af f ON f.subject_id = a.subject_id AND f.ab_id = a.ab_id AND f.k = 1
